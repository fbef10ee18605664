"""What the Task API tells of the splits: nothing that breaks, and nothing that takes long.

OpenEnv asks between two steps of everybody's episodes, so a list holds no more than what is known of a task
without drawing it, and no more than `LISTED` tasks.
"""

from typing import Final, Literal

from orbital_ops_env.missions import splits
from orbital_ops_env.models import Split, TaskCard, TaskEntry
from orbital_ops_env.server.observe import brief

LISTED: Final = 1000
"""[-] most tasks in one answer."""
TYPES: Final[dict[str, Literal["train", "validation", "test"]]] = {"train": "train", "val": "validation"}
"""What OpenEnv calls a split; all others are `test`."""


def list_splits() -> list[Split]:
    """The splits, with the number of their tasks."""
    return [
        Split(name=name, type=TYPES.get(name, "test"), num_tasks=splits.num_tasks(name))
        for name in splits.SPLITS
    ]


def entries(split: str, start: int | None, stop: int | None) -> list[TaskEntry]:
    """Tasks of a split, from and up to an index as in a slice.

    Raises:
        ValueError: No such split, or more tasks than one answer holds.
    """
    indices = range(splits.num_tasks(split))[start:stop]
    if len(indices) > LISTED:
        raise ValueError(f"a range of {len(indices)} tasks: expected at most {LISTED} at a time")
    cells = ((index, *splits.cell(split, index)) for index in indices)
    return [TaskEntry(split=split, index=index, family=f, level=level) for index, f, level in cells]


def card(split: str, index: int) -> TaskCard:
    """A task, with its brief; raises as `splits.task` does."""
    task = splits.task(split, index)
    return TaskCard(
        split=split,
        index=index,
        family=task.spec.family,
        level=task.spec.level,
        seed=task.spec.seed,
        episode_seed=task.episode_seed,
        spec_hash=task.spec.content_hash,
        brief=brief(task.spec),
    )
