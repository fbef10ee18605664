"""Curves of a run as PNG, legible at the width of a README."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

SIZE: Final = (9.0, 5.0)
"""[in] of a figure."""
DPI: Final = 150
FONT: Final = 14
"""[pt] of every text."""
Row = Mapping[str, Any]
"""One row of the metrics, as `training.log.read` gives them."""


def reward_curve(rows: Sequence[Row], baseline: float, path: Path) -> Path:
    """Mean return and success by training step, with the untrained model on the same axes.

    Dotted lines mark new generations of missions, or as many slots where there are none, with the mean level
    of those flown by then; missions on both sides of one are not alike.

    Args:
        rows: Metrics of a GRPO run.
        baseline: [-] mean return of the untrained model.
        path: The PNG to write.

    Returns:
        The path.

    Raises:
        ValueError: No row holds a return.
    """
    steps = _steps(rows)
    figure, axes = _figure("Reward (0–1)")
    numbers = [row["step"] for row in steps]
    axes.plot(numbers, [row["reward/overall"] for row in steps], "-o", label="mean return")
    axes.plot(numbers, [row["episode/success_rate"] for row in steps], "-s", label="success rate")
    axes.axhline(baseline, color="black", linestyle="--", label=f"untrained baseline, return {baseline:.2f}")
    for before, after in itertools.pairwise(row for row in steps if "curriculum/window" in row):
        if int(before["curriculum/window"]) != int(after["curriculum/window"]):
            axes.axvline(after["step"] - 0.5, color="grey", linestyle=":")
            level = f" level {after['curriculum/window_level']:.1f}"
            axes.text(after["step"] - 0.5, 1.0, level, va="top", color="grey", fontsize=FONT)
    axes.set_ylim(-0.03, 1.03)
    return _written(figure, axes, path)


def loss_curve(rows: Sequence[Row], path: Path) -> Path:
    """The loss by training step, which is no evidence of learning, as the caption says.

    Args:
        rows: Metrics of a GRPO run.
        path: The PNG to write.

    Returns:
        The path.

    Raises:
        ValueError: No row holds a return.
    """
    steps = _steps(rows)
    figure, axes = _figure("Loss")
    axes.plot([row["step"] for row in steps], [row["loss"] for row in steps], "-o", label="loss")
    axes.set_title("One on-policy step an update: near 0 by construction", fontsize=FONT)
    return _written(figure, axes, path)


def _steps(rows: Sequence[Row]) -> list[Row]:
    steps = [row for row in rows if "reward/overall" in row]
    if not steps:
        raise ValueError("no row of the metrics holds reward/overall: expected the rows of a GRPO run")
    return steps


def _figure(quantity: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel("Training Step", fontsize=FONT)
    axes.set_ylabel(quantity, fontsize=FONT)
    axes.tick_params(labelsize=FONT)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    return figure, axes


def _written(figure: Figure, axes: Axes, path: Path) -> Path:
    axes.legend(fontsize=FONT)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path
