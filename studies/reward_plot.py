"""The picture of the reward audit: what return means across ability."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from orbital_ops_env.rewards.rubric import Weights
from orbital_ops_env.studies import figures
from orbital_ops_env.studies.audit_figure import SCRIPTS
from orbital_ops_env.studies.zoo import BLIND, DODGERS, GRADED, SPOILERS

PICTURE: Final = figures.ROOT / "plots" / "reward_audit.png"
SIZE: Final = (9.0, 5.0)
"""[in] of the figure."""
DPI: Final = 130
FONT: Final = 13
"""[pt] of every text."""
MOST_OF_A_FAILURE: Final = Weights().process
LEAST_OF_A_SUCCESS: Final = Weights().objective + Weights().process


def draw(data: Mapping[str, Any], path: Path = PICTURE) -> Path:
    """Mean return by success, a point for each policy and family.

    Args:
        data: `reward_audit.json`.
        path: The PNG to write.

    Returns:
        The path.
    """
    figure: Any = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    for names, marker, color, label in (
        (
            [n for n in GRADED if n.startswith("noise_")],
            "o",
            "tab:blue",
            "reference, 0 to 100 % random commands",
        ),
        (["rules"], "s", "tab:orange", "rules"),
        (["reader"], "^", "tab:green", "script from the brief"),
        ([*BLIND, SCRIPTS], "x", "tab:red", "blind policies"),
        ([*SPOILERS], "v", "tab:brown", "reference and a wrong report, or prose"),
        ([*DODGERS], "+", "tab:purple", "dodgers"),
    ):
        points = [
            (cell["policies"][name]["success"], cell["policies"][name]["return"])
            for cell in data["families"].values()
            for name in names
        ]
        successes, returns = zip(*points, strict=True)
        axes.scatter(successes, returns, marker=marker, color=color, label=label, alpha=0.7)
    for level, words in (
        (MOST_OF_A_FAILURE, "most of a failure"),
        (LEAST_OF_A_SUCCESS, "least of a success"),
    ):
        axes.axhline(level, color="grey", linestyle=":")
        axes.text(1.0, level, words, ha="right", va="bottom", color="grey", fontsize=FONT)
    axes.set_xlabel("share of missions that succeed", fontsize=FONT)
    axes.set_ylabel("mean return", fontsize=FONT)
    axes.tick_params(labelsize=FONT)
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.0)
    axes.legend(fontsize=FONT, loc="upper left")
    figure.savefig(path, metadata={"Software": None})
    return path
