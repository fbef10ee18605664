"""What `make docs` writes about the baselines: the leaderboard of the README and `docs/baselines.md`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from orbital_ops_env.studies import figures
from orbital_ops_env.studies.baselines_figure import ACCEPTED, ATTACKED, LEADERBOARD, SHOWN
from orbital_ops_env.studies.reward_page import wrapped
from orbital_ops_env.studies.zoo import RED_TEAM

PAGE: Final = figures.ROOT / "docs" / "baselines.md"
PAGE_HEAD: Final = """\
# Baselines

Made by `make docs` from `plots/data/baselines.json`, which `make baselines` writes.
"""
SUMMARY_TEXT: Final = """\
**Leaderboard of `test`** (`make baselines`, [plots/data/baselines.json](plots/data/baselines.json); every
split: [docs/baselines.md](docs/baselines.md)). Each task is flown once, on an episode seed of its own;
intervals are of 95 %, the families' numbers are success, with their tasks in brackets. The frozen
missions are those that `reference` solves on 15 of 16 other seeds, so its score on them is what it is by
selection; on `train`, where nothing is selected, its success is {train:.2f}. `reader` plans once from the
brief and reads no telemetry."""
PICTURE: Final = "Success by level on `test`, a panel for each family and a line for each policy"
PAGE_TEXT: Final = """\
What policies without a language model reach on each split, best first, each task flown once on the
episode that it is scored on: `reference` diagnoses and plans, `rules` follows a written procedure,
`reader` plans once from the brief and reads no telemetry, the others know nothing of the mission. Success
has its 95 % Wilson interval, mean return its 95 % bootstrap interval, both over the tasks; of a family,
success alone, with the number of its tasks in brackets. All splits but `train` hold only missions that
`reference` solves on 15 of 16 other seeds: its score there is what it is by selection."""
RED_TEAM_TEXT: Final = """\
Policies that are after return without success ([reward_audit.md](reward_audit.md)), on the tasks of `val`.
The two dodgers fly as `reference` does and give up near the end: now and then they succeed before they can.
Scripts that a search finds are flown in the audit only."""
ACCEPTANCE_TEXT: Final = """\
Share of a family's candidates that the certificate accepted when the splits were frozen, the mean over
levels. The candidate that fills a cell is left out of its share, since it is always accepted."""


def summary(data: Mapping[str, Any]) -> str:
    """The README's part: the leaderboard of `test` and its picture."""
    text = SUMMARY_TEXT.format(train=data["train"]["reference"]["success"])
    return f"{wrapped(text)}\n\n{leaderboard(data, SHOWN)}\n\n![{PICTURE}](plots/baselines.png)"


def leaderboard(data: Mapping[str, Any], split: str, policies: Iterable[str] = LEADERBOARD) -> str:
    """The policies of a split, best first, in Markdown.

    Args:
        data: `baselines.json`.
        split: Its name.
        policies: Those to show.
    """
    board: Mapping[str, Any] = data[split]
    told = [(name, board[name]) for name in policies if name in board]
    told.sort(key=lambda item: (-item[1]["success"], -item[1]["return"], item[0]))
    families = {name: part["episodes"] for _, cell in told for name, part in cell["families"].items()}
    columns = (f"`{family}` ({count})" for family, count in families.items())
    head = ("policy", "success", "return", "episodes", *columns)
    return _table(head, [_ranked(name, cell, list(families)) for name, cell in told])


def _ranked(name: str, cell: Mapping[str, Any], families: Sequence[str]) -> list[str]:
    numbers = [_with_interval(cell, key) for key in ("success", "return")]
    return [
        f"`{name}`",
        *numbers,
        str(cell["episodes"]),
        *(f"{cell['families'][family]['success']:.2f}" for family in families),
    ]


def _with_interval(cell: Mapping[str, Any], key: str) -> str:
    low, high = cell[f"{key}_ci95"]
    return f"{cell[key]:.2f} [{low:.2f}, {high:.2f}]"


def acceptance(data: Mapping[str, Any]) -> str:
    """How many candidates of each family were accepted."""
    rows = [
        [f"`{family}`", *(f"{cell[key]:.2f}" for key in ACCEPTED)]
        for family, cell in data["acceptance"].items()
    ]
    return _table(("family", "levels 0 to 6", "levels 7 to 9"), rows)


def page(data: Mapping[str, Any]) -> str:
    """`docs/baselines.md`, of the splits that were flown."""
    red_team = [name for name in RED_TEAM if name not in LEADERBOARD]
    flown = (name for name, board in data.items() if isinstance(board, Mapping) and "reference" in board)
    told = sorted(flown, key=lambda name: name != SHOWN)
    parts = [PAGE_HEAD.rstrip(), wrapped(PAGE_TEXT), f"![{PICTURE}](../plots/baselines.png)"]
    parts += [f"## `{split}`\n\n{leaderboard(data, split)}" for split in told]
    if ATTACKED in data:
        board = leaderboard(data, ATTACKED, red_team)
        parts.append(f"## Red team on `{ATTACKED}`\n\n{wrapped(RED_TEAM_TEXT)}\n\n{board}")
    parts.append(f"## Candidates accepted\n\n{wrapped(ACCEPTANCE_TEXT)}\n\n{acceptance(data)}")
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join((lines[0], "|---" * len(head) + "|", *lines[1:]))
