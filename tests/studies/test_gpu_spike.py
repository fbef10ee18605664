"""Figures of GPU runs, from rows written by hand."""

import shlex
from typing import Any

import pytest

from orbital_ops_env.studies import figures
from orbital_ops_env.studies.gpu_spike import KEPT, configurations, figure, options, side_by_side

FACTS = {"at_once": 1, "gpu": "none"}


def row(step: int, **values: float) -> dict[str, Any]:
    return dict.fromkeys(KEPT, 0.0) | {"step": step, "more": "of the log"} | values


def test_a_runs_figures_leave_out_the_step_that_compiles() -> None:
    seconds = [(90.0, 1.0), (10.0, 2.0), (20.0, 4.0), (12.0, 4.0)]
    rows = [
        row(n, step_time=step, **{"seconds/generation": sampling, "sampled_tokens": 500.0})
        for n, (step, sampling) in enumerate(seconds, start=1)
    ]
    found = figure(rows, FACTS)
    assert found["step_time"] == 12.0
    assert found["tokens_per_s"] == pytest.approx(1500 / 10)
    assert [step["step"] for step in found["steps"]] == [1, 2, 3, 4]
    assert found["gpu"] == "none"
    assert "more" not in found["steps"][0]


def test_a_run_of_one_step_on_a_cpu_has_figures() -> None:
    rows = [row(1, step_time=7.0, **{"seconds/generation": 2.0, "sampled_tokens": 10.0})]
    for name in ("memory/allocated_mib", "memory/reserved_mib"):
        del rows[0][name]
    assert figure(rows, FACTS)["tokens_per_s"] == 5.0


def test_runs_at_once_are_compared_with_one_alone() -> None:
    alone, slow, slower = (
        {"at_once": n, "step_time": seconds} for n, seconds in [(1, 20.0), (4, 30.0), (4, 50.0)]
    )
    found = side_by_side({"alone": alone, "beside-0": slow, "beside-1": slower})
    assert found == {
        "alone": {"runs": 1, "step_time": 20.0, "throughput_ratio": 1.0},
        "beside": {"runs": 2, "step_time": 40.0, "throughput_ratio": pytest.approx(20 / 30 + 20 / 50)},
    }
    assert side_by_side({"beside-0": slow})["beside"]["throughput_ratio"] is None


def test_the_script_for_a_gpu_asks_for_options_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (figures.ROOT / "studies/gpu/all.sh").read_text().splitlines()
    asked = [shlex.split(line)[2:] for line in lines if line.startswith("study gpu_spike")]
    runs: list[str] = []
    for arguments in asked:
        monkeypatch.setattr("sys.argv", ["gpu_spike", *arguments])
        chosen = options()
        if chosen.command == "train":
            runs += [each.run_id for each in configurations(chosen)]
    assert runs == ["beside-0", "beside-1", "beside-2", "beside-3", "alone"]
