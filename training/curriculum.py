"""A server's curriculum as the trainer follows it: slots for its groups, and snapshots in its checkpoints."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from accelerate import PartialState
from transformers import TrainerCallback, TrainerControl, TrainerState

from orbital_ops_env.client import HeldOut, RunOptions, Runs, Tasks
from orbital_ops_env.training.config import TrainingConfig
from orbital_ops_env.training.rollout import Rollout

SNAPSHOT: Final = "curriculum.json"
"""File in a checkpoint."""
HELD_OUT: Final = "val"
"""The split that is flown at checkpoints."""
Fly = Callable[[Sequence[Mapping[str, Any]]], list[Rollout]]
"""Flies an episode for each set of reset options."""


class Curriculum(TrainerCallback):
    """The run of a training; its missions are chosen by the server, from the outcomes that it keeps itself.

    Args:
        runs: The server's curricula.
        tasks: Its splits.
        fly: Flies held-out tasks with the model that is trained.
        config: The training.
    """

    def __init__(self, runs: Runs, tasks: Tasks, fly: Fly, config: TrainingConfig) -> None:
        self._runs, self._tasks, self._fly, self._config = runs, tasks, fly, config
        self._told = dict.fromkeys(
            (f"curriculum/{name}" for name in ("window", "window_level", "window_live", "repeated")), 0.0
        )

    def options(self, slots: Sequence[int], first: int = 0) -> list[dict[str, Any]]:
        """Options of `reset` for a batch in which groups follow each other.

        Args:
            slots: The slot of each episode.
            first: Place of the first of them in the whole batch, where several processes share it.
        """
        return [
            {
                "split": "curriculum",
                "index": slot,
                "run_id": self._config.run_id,
                "member": (first + place) % self._config.group_size,
            }
            for place, slot in enumerate(slots)
        ]

    def metrics(self) -> dict[str, float]:
        """Where the run stands, for the log, or stood when the server last said; what is wrong is printed.

        One process asks, for all.
        """
        if not PartialState().is_main_process:
            return {}
        run_id = self._config.run_id
        try:
            status, told = self._runs.status(run_id), self._runs.metrics(run_id)
        except (ConnectionError, RuntimeError) as error:
            print(f"curriculum: {error}")  # noqa: T201
            return self._told
        for alarm in status.alarms:
            print(f"curriculum: {alarm}")  # noqa: T201
        if not told:
            return self._told
        last, levels = told[-1], told[-1]["levels"]
        self._told = {
            "curriculum/window": float(last["window"]),
            "curriculum/window_level": sum(n * count for n, count in enumerate(levels)) / sum(levels),
            "curriculum/window_live": last["live"],
            "curriculum/repeated": float(status.repeated),
        }
        return self._told

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Begin the run, or put it back as it was at the checkpoint that the training goes on from.

        One process does; the others wait for it.

        Raises:
            FileNotFoundError: The checkpoint has no snapshot.
            ValueError: There is a run of this name already, or the snapshot is of another training.
        """
        if state.is_world_process_zero:
            if state.global_step:
                self._restore(_file(args, state))
            else:
                self._runs.create(self.asked())
        PartialState().wait_for_everyone()

    def _restore(self, path: Path) -> None:
        if not path.exists():
            raise FileNotFoundError(
                f"{path.parent} has no {SNAPSHOT}: expected a whole checkpoint of this version; "
                "without that folder, training goes on from the checkpoint before"
            )
        self._runs.restore(self._config.run_id, path.read_bytes())
        status, asked = self._runs.resume(self._config.run_id), self.asked()
        kept = (status.preset["members"], status.families, status.seed)
        wanted = (self._config.group_size, asked.families, asked.seed)
        if kept != wanted:
            raise ValueError(
                f"{path} is of a run with group_size, families and seed {kept}, expected {wanted}"
            )

    def on_save(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Report how the model does on held-out tasks, and keep the run with the checkpoint."""
        if not state.is_world_process_zero:
            return
        if self._config.held_out:
            with torch.random.fork_rng():  # what training draws next does not depend on it
                flown = self._fly(self._held_out())
            success = sum(each.succeeded for each in flown) / len(flown)
            report = HeldOut(success=success, episodes=len(flown), split=HELD_OUT)
            self._runs.report(self._config.run_id, report)
        path = _file(args, state)
        whole = path.with_suffix(".part")
        whole.write_bytes(self._runs.snapshot(self._config.run_id))
        os.replace(whole, path)

    def _held_out(self) -> list[dict[str, Any]]:
        """Options of `reset` for tasks of the families that are trained on, evenly spread over them."""
        tasks = [each for each in self._tasks.list_tasks(HELD_OUT) if each.family in self._config.families]
        count = min(self._config.held_out, len(tasks))
        chosen = [tasks[n * len(tasks) // count] for n in range(count)]
        return [{"split": HELD_OUT, "index": each.index} for each in chosen]

    def asked(self) -> RunOptions:
        """The run as the server is asked for it."""
        config = self._config
        size = {"missions": config.groups * config.generation_steps}
        return RunOptions(
            run_id=config.run_id,
            preset=config.curriculum,
            changes=size | config.curriculum_changes | {"members": config.group_size},
            families=config.families,
            seed=config.seed,
        )


def _file(args: Any, state: TrainerState) -> Path:
    return Path(args.output_dir) / f"checkpoint-{state.global_step}" / SNAPSHOT
