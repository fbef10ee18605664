"""What the flights of the baselines say: success and return by split, policy, family and level."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orbital_ops_env.studies import figures
from orbital_ops_env.studies.success import POLICIES
from orbital_ops_env.training.results import interval, wilson

Figure = dict[str, Any]
NAME: Final = "baselines.json"
SHOWN: Final = "test"
"""The split of the README and of the plot."""
ATTACKED: Final = "val"
"""The split that the red team flies."""
LEADERBOARD: Final = (*POLICIES, "reader")
"""Who flies every split: `POLICIES`, and a script from the brief, which tells where feedback matters."""
FREEZE: Final = "freeze.json"
"""Figure that tells how many missions the certificate accepts."""
ACCEPTED: Final = ("low", "high")
"""Its keys of a family: levels 0 to 6, and 7 to 9."""


@dataclass(frozen=True)
class Row:
    """What became of an episode."""

    split: str
    policy: str
    family: str
    level: int
    success: bool
    return_: float


def figure(rows: Sequence[Row]) -> Figure:
    """`<split>.<policy>`: its numbers, and those of each family and level beneath."""
    return {
        split: {policy: _policy(flown) for policy, flown in _by(mine, lambda row: row.policy).items()}
        for split, mine in _by(rows, lambda row: row.split).items()
    }


def _policy(rows: Sequence[Row]) -> Figure:
    return numbers(rows) | {
        "families": {
            family: numbers(mine) | {"levels": _levels(mine)}
            for family, mine in _by(rows, lambda row: row.family).items()
        }
    }


def _levels(rows: Sequence[Row]) -> Figure:
    """Without intervals: a level has ten tasks at most."""
    levels = sorted(_by(rows, lambda row: f"{row.level}").items())
    return {level: _means(mine) for level, mine in levels}


def numbers(rows: Sequence[Row]) -> Figure:
    """Success with its Wilson interval, and mean return with its bootstrap interval."""
    return _means(rows) | {
        "success_ci95": wilson(sum(row.success for row in rows), len(rows)),
        "return_ci95": interval([row.return_ for row in rows]),
    }


def _means(rows: Sequence[Row]) -> Figure:
    return {
        "success": sum(row.success for row in rows) / len(rows),
        "return": sum(row.return_ for row in rows) / len(rows),
        "episodes": len(rows),
    }


def _by(rows: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Rows by a name, in the order in which the names come."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def acceptance() -> dict[str, dict[str, float]]:
    """[-] Share of each family's candidates that the certificate accepted, by levels, from `freeze.json`.

    Raises:
        FileNotFoundError: There is no such figure yet.
        ValueError: It does not tell of a family's levels.
    """
    try:
        told: Mapping[str, Mapping[str, float]] = figures.read(FREEZE)["acceptance"]
        return {family: {key: float(cell[key]) for key in ACCEPTED} for family, cell in told.items()}
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"no {figures.DATA / FREEZE}: expected the figure of the frozen splits, run `make freeze` first"
        ) from error
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{figures.DATA / FREEZE}: expected numbers `acceptance.<family>.low` and `.high`, "
            f"found none at {error}; run `make freeze` again"
        ) from error
