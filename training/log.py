"""Metrics of a run as JSON lines, raw episodes on the screen, and W&B where there is a key."""

import json
import os
from pathlib import Path
from typing import Any, Protocol

from transformers import TrainerCallback, TrainerControl, TrainerState

from orbital_ops_env.training.rollout import Rollout


class Flown(Protocol):
    """What the log reads episodes from."""

    rollouts: list[Rollout]


def trackers() -> list[str]:
    """`report_to` of a trainer: W&B with a key, otherwise nothing but our own file."""
    if os.environ.get("WANDB_API_KEY"):
        return ["wandb"]
    print("No WANDB_API_KEY: metrics are logged to metrics.jsonl only.")  # noqa: T201
    return []


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a metrics file; a last line that a crash cut short is left out."""
    lines = path.read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


class Log(TrainerCallback):
    """Writes a JSON line for each log of the trainer and prints raw episodes every few steps.

    Args:
        path: The file; a run that goes on from a checkpoint keeps the rows up to it.
        flown: Where the last episodes are.
        show_every: [-] steps between printed episodes.
    """

    def __init__(self, path: Path, flown: Flown, show_every: int) -> None:
        self._path, self._flown, self._show_every = path, flown, show_every

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Keep what belongs to the run."""
        if not state.is_world_process_zero:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        kept = read(self._path) if self._path.exists() else []
        kept = [row for row in kept if row["step"] <= state.global_step]
        self._path.write_text("".join(json.dumps(row) + "\n" for row in kept))

    def on_log(
        self, args: Any, state: TrainerState, control: TrainerControl, logs: dict[str, Any], **_: Any
    ) -> None:
        """Append a step's row; what it took beside generation and environment is the update."""
        if "step_time" not in logs or not state.is_world_process_zero:
            return  # the summary of a run, or of another process
        row = {"step": state.global_step, **logs}
        if "seconds/generation" in row:
            row["seconds/update"] = row["step_time"] - row["seconds/generation"] - row["seconds/environment"]
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Print the raw episodes with the least, the middle and the greatest return."""
        if state.is_world_process_zero and (state.global_step - 1) % self._show_every == 0:
            by_return = sorted(self._flown.rollouts, key=lambda each: each.return_)
            for rollout in (by_return[0], by_return[len(by_return) // 2], by_return[-1]):
                print(f"-- step {state.global_step}\n{rollout}", flush=True)  # noqa: T201
