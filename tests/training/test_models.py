"""The table of models, and the curves of a run."""

from pathlib import Path
from typing import Any

import pytest

from orbital_ops_env.training import models
from orbital_ops_env.training.config import TrainingConfig
from orbital_ops_env.training.models import MODELS, default_model, settings, table


@pytest.mark.parametrize(
    ("gpu_gib", "name"),
    [
        (0.0, "HuggingFaceTB/SmolLM2-135M-Instruct"),
        (14.7, "unsloth/Qwen3-0.6B"),  # T4
        (22.2, "unsloth/Qwen3-1.7B"),  # L4
        (39.4, "unsloth/Qwen3-4B"),  # A100
        (139.8, "unsloth/Qwen3-4B"),  # H200
    ],
)
def test_the_default_follows_the_memory_of_the_gpu(gpu_gib: float, name: str) -> None:
    assert default_model(gpu_gib).name == name


@pytest.mark.parametrize("row", MODELS, ids=lambda row: row.name)
def test_every_row_is_a_configuration_that_fits_its_gpu(row: models.LanguageModel) -> None:
    config = TrainingConfig(**settings(row.name))
    assert config.model == row.name
    assert config.group_size >= 4
    assert 0 < row.weights_gib < row.smallest_gpu_gib / 4


def test_a_model_that_is_not_in_the_table_gets_careful_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings("some/model") == {"model": "some/model", **models.CAREFUL}
    monkeypatch.setattr(models, "gpu_gib", lambda: 22.2)
    assert settings() == settings("unsloth/Qwen3-1.7B")


def test_the_table_says_of_each_row_whether_it_was_run() -> None:
    lines = table().splitlines()[2:]
    assert [row.name in line for row, line in zip(MODELS, lines, strict=True)] == [True] * len(MODELS)
    for row, line in zip(MODELS, lines, strict=True):
        assert line.endswith(f"| {row.ran_on or 'not run'} |")


def step(number: int, window: float = 0.0) -> dict[str, Any]:
    return {
        "step": number,
        "loss": 0.0,
        "reward/overall": number / 10,
        "episode/success_rate": number / 20,
        "curriculum/window": window,
        "curriculum/window_level": 2.5,
    }


def test_the_curves_have_the_labels_and_the_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plots = pytest.importorskip("orbital_ops_env.training.plots", reason="needs matplotlib")
    drawn: list[Any] = []

    def keep(figure: Any, axes: Any, path: Path) -> None:
        drawn.append(axes)

    monkeypatch.setattr(plots, "_written", keep)
    plots.reward_curve([step(1), step(2), step(3, window=1.0), {"step": 3}], 0.25, tmp_path / "unused.png")
    (axes,) = drawn
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Training Step", "Reward (0–1)")
    returns, success, baseline, moved = axes.get_lines()
    assert list(returns.get_ydata()) == [0.1, 0.2, 0.3]
    assert list(success.get_ydata()) == [0.05, 0.1, 0.15]
    assert list(baseline.get_ydata()) == [0.25, 0.25]
    assert list(moved.get_xdata()) == [2.5, 2.5]
    assert [text.get_text().strip() for text in axes.texts] == ["level 2.5"]


def test_a_curve_is_a_png_and_wants_the_rows_of_a_run(tmp_path: Path) -> None:
    plots = pytest.importorskip("orbital_ops_env.training.plots", reason="needs matplotlib")
    for written in (
        plots.reward_curve([step(1), step(2)], 0.1, tmp_path / "plots/reward.png"),
        plots.loss_curve([step(1), step(2)], tmp_path / "plots/loss.png"),
    ):
        assert written.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="expected the rows of a GRPO run"):
        plots.reward_curve([{"step": 1}], 0.1, tmp_path / "never.png")
