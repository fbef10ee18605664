"""The notebook, as it is committed and as it runs: on a CPU, with a tiny random model, on a real server."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orbital_ops_env.client import RunOptions, Runs

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "notebooks/train_grpo.ipynb"
CELLS: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text())["cells"]
LONGEST_CELL = 15
"""[-] lines, but for the parameters."""
COMPONENTS = ("overall", "primary", "process", "efficiency", "safety", "format")
SMOKE: dict[str, Any] = {
    "BACKEND": "trl",
    "INSTALL": False,
    "IGNORE_GATE": True,
    "CURRICULUM_TOKEN": "a token for tests",
    "TEST_REWARD": True,
    "SFT_STEPS": 2,
    "GRPO_STEPS": 2,
    "DEMONSTRATIONS": 4,
    "CONFIG": {
        "max_new_tokens": 4,
        "max_episode_tokens": 16000,
        "groups": 2,
        "group_size": 4,
        "held_out": 2,
        "micro_batch": 4,
        "sft_batch": 2,
        "sft_micro_batch": 1,
        "learning_rate": 1e-3,
    },
}
Told = dict[str, str]
"""What each cell printed, by its id."""


def code() -> list[dict[str, Any]]:
    return [cell for cell in CELLS if cell["cell_type"] == "code"]


@pytest.fixture
def execute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Told]:
    """Executes the notebook, or some of its cells, in a folder of its own."""
    papermill = pytest.importorskip("papermill", reason="needs the training environment")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)

    def execute(*only: str, **parameters: Any) -> Told:
        whole = json.loads(NOTEBOOK.read_text())
        whole["cells"] = [cell for cell in whole["cells"] if not only or cell["id"] in only]
        (tmp_path / "input.ipynb").write_text(json.dumps(whole))
        done = papermill.execute_notebook(
            tmp_path / "input.ipynb",
            tmp_path / "output.ipynb",
            SMOKE | parameters,
            cwd=tmp_path,
            progress_bar=False,
            request_save_on_cell_execute=False,
        )
        return {cell["id"]: printed(cell) for cell in done.cells}

    return execute


def printed(cell: Any) -> str:
    streams = (o for o in cell.get("outputs", []) if o["output_type"] == "stream" and o["name"] == "stdout")
    return "".join(each["text"] for each in streams)


def test_it_is_committed_without_outputs_and_with_names_for_cells() -> None:
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code())
    ids = [cell["id"] for cell in CELLS]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", each) for each in ids)


def test_its_sections_are_in_order_and_its_cells_are_short() -> None:
    text = "".join("".join(cell["source"]) + "\n" for cell in CELLS if cell["cell_type"] == "markdown")
    assert re.findall(r"^## (\d+) ", text, flags=re.MULTILINE) == [str(n) for n in range(1, 10)]
    lengths = {cell["id"]: len(cell["source"]) for cell in code()}
    assert {name for name, lines in lengths.items() if lines > LONGEST_CELL} == {"parameters"}
    assert [cell["id"] for cell in code() if cell["metadata"].get("tags") == ["parameters"]] == ["parameters"]
    assert code()[0]["id"] == "parameters"


@pytest.mark.slow
def test_it_runs_to_the_end(
    execute: Callable[..., Told], url: str, sessions: Callable[[int], int], tiny: str, tmp_path: Path
) -> None:
    told = execute(ENV_URL=url, MODEL=tiny)
    assert sessions(0) == 0

    assert "torch==2.13.0" in told["versions"]
    assert "MISSION retarget-v0 level 0" in told["smoke"]
    assert "valid turns 0.00" in told["zero-shot-figures"]
    assert "has to come first" in told["zero-shot-figures"]
    assert "passed: False" in told["gate"]
    assert told["grpo"].count("-- step 1\n") == 3
    assert "2 steps" in told["grpo"]
    assert "== " in told["reload"]
    gain = told["after"].splitlines()[0]
    assert re.search(r"[+-]\d\.\d{3} \[[+-]\d\.\d{3}, [+-]\d\.\d{3}\] over 20 paired episodes$", gain), gain
    assert "%" not in gain  # the baseline is nearly zero

    lines = (tmp_path / "outputs/training/grpo/metrics.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if "group/live" in row]
    assert [row["step"] for row in rows] == [1, 2]
    logged = {f"reward/{name}" for name in COMPONENTS} | {"episode/success_rate", "episode/valid_turns"}
    for row in rows:
        assert row["grad_norm"] > 0
        assert logged <= row.keys()
    for name in ("reward_curve.png", "loss_curve.png"):
        assert (tmp_path / "plots" / name).read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "outputs/training/adapter/adapter_config.json").is_file()
    assert (tmp_path / "outputs/training/merged/config.json").is_file()


@pytest.mark.slow
def test_one_switch_starts_a_server_here(execute: Callable[..., Told], tiny: str) -> None:
    python = str(ROOT / ".venv/bin/python")
    only = ("parameters", "install", "models", "config", "server", "smoke", "close")
    told = execute(*only, LOCAL_SERVER=True, SERVER_PYTHON=python, MODEL=tiny)
    assert re.match(r"http://127\.0\.0\.1:\d+ answers", told["smoke"])
    assert "MISSION retarget-v0 level 0" in told["smoke"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ENV_URL": "http://127.0.0.1:9", "WAIT_S": 2}, r"127\.0\.0\.1:9 gave no answer at /health for 2 s"),
        ({}, "put the owner of the Space in place of OWNER"),
    ],
    ids=["nobody answers", "the address was not filled in"],
)
def test_a_wrong_address_ends_in_an_error_that_names_it(
    execute: Callable[..., Told], parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        execute("parameters", "install", "server", **parameters)


@pytest.mark.slow
def test_a_wrong_token_ends_in_an_error_before_anything_is_trained(
    execute: Callable[..., Told], url: str
) -> None:
    with pytest.raises(Exception, match="expected the server's CURRICULUM_TOKEN"):
        execute("parameters", "install", "server", ENV_URL=url, CURRICULUM_TOKEN=None)


@pytest.mark.slow
def test_the_name_of_another_run_ends_in_an_error_before_anything_is_trained(
    execute: Callable[..., Told], url: str, runs: Runs
) -> None:
    runs.create(RunOptions(run_id="taken", preset="uniform"))
    with pytest.raises(Exception, match="has a run 'taken' already: choose another RUN"):
        execute("parameters", "install", "server", ENV_URL=url, RUN="taken")
