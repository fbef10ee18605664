"""The picture of the baselines: success by family and level."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from orbital_ops_env.studies import figures
from orbital_ops_env.studies.baselines_figure import LEADERBOARD, SHOWN

PICTURE: Final = figures.ROOT / "plots" / "baselines.png"
COLUMNS: Final = 4
PANEL: Final = (3.4, 3.0)
"""[in] width and height of a family's panel."""
DPI: Final = 130
FONT: Final = 13
"""[pt] of every text."""
LINES: Final = {
    "reference": ("o-", "tab:blue"),
    "rules": ("s-", "tab:orange"),
    "reader": ("d-", "tab:green"),
    "random": ("x-", "tab:red"),
    "idle": ("v:", "tab:grey"),
    "fire": ("+:", "tab:brown"),
    "safe_mode": ("^:", "tab:purple"),
}
"""Marker with line, and colour, of each of `LEADERBOARD`."""


def draw(data: Mapping[str, Any], path: Path = PICTURE) -> Path:
    """Success by level, a panel for each family and a line for each policy.

    Args:
        data: `baselines.json`.
        path: The PNG to write.

    Returns:
        The path.
    """
    board: Mapping[str, Any] = data[SHOWN]
    families = list(board["reference"]["families"])
    rows, columns = -(-len(families) // COLUMNS), min(len(families), COLUMNS)
    size = (PANEL[0] * columns, PANEL[1] * rows + 0.6)
    figure: Any = Figure(figsize=size, dpi=DPI, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for panel, family in zip(panels.flat, families, strict=False):
        _panel(panel, family, {name: board[name]["families"][family]["levels"] for name in LEADERBOARD})
    for panel in panels.flat[len(families) :]:
        panel.set_axis_off()
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(LEADERBOARD), fontsize=FONT)
    figure.supxlabel("level", fontsize=FONT)
    figure.supylabel(f"success on {SHOWN}", fontsize=FONT)
    figure.savefig(path, metadata={"Software": None})
    return path


def _panel(axes: Any, family: str, policies: Mapping[str, Mapping[str, Any]]) -> None:
    for name, levels in policies.items():
        style, color = LINES[name]
        successes = [cell["success"] for cell in levels.values()]
        axes.plot([int(level) for level in levels], successes, style, color=color, label=name, alpha=0.8)
    axes.set_title(family, fontsize=FONT)
    axes.set_xticks(range(0, 10, 3))
    axes.set_ylim(-0.03, 1.03)
    axes.tick_params(labelsize=FONT)
