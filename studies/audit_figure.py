"""What the rows of a reward audit say: exploits, order, ability, attribution, spread of groups.

An exploit is return without success: the red team is told by its mean return over failed episodes.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy as np
from scipy import stats

from orbital_ops_env.studies import open_loop
from orbital_ops_env.studies.zoo import BLIND, DODGERS, GRADED, RED_TEAM, REFERENCE, SPOILERS

Figure = dict[str, Any]
BLIND_FROM: Final = 2
"""Level from which on no blind policy may succeed."""
SCRIPTS: Final = "searched"
"""Name of the scripts that a search found, all levels of a family together."""


@dataclass(frozen=True)
class Row:
    """What became of an episode."""

    policy: str
    family: str
    level: int
    success: bool
    return_: float
    seed: int = 0
    """Of the mission, the same for every policy."""
    steps: tuple[tuple[str, float], ...] = ()
    """Command and reward of each step."""


@dataclass(frozen=True)
class Group:
    """Flights of one episode that differ in noise only."""

    family: str
    level: int
    seed: int
    noise: float


@dataclass(frozen=True)
class Spread:
    """What a group's flights earn."""

    group: Group
    successes: tuple[bool, ...]
    returns: tuple[float, ...]

    @property
    def live(self) -> bool:
        """Whether some succeed and some do not."""
        return len(set(self.successes)) > 1


# -- figures of a family -----------------------------------------------------------------------


def outranking(rows: Iterable[Row]) -> float:
    """[-] P(return of a succeeded episode > return of a failed one); NaN without pairs."""
    rows = list(rows)
    won, lost = ([row.return_ for row in rows if row.success is told] for told in (True, False))
    if not (won and lost):
        return float("nan")
    return float(np.mean(np.subtract.outer(won, lost) > 0))


def ability(rows: Sequence[Row]) -> float:
    """[-] Spearman's rank correlation of success and mean return over the graded policies.

    The red team is not among them: it shares one rank, no success at all, which bounds the correlation
    whatever it earns; `concordance` weighs it.
    """
    mine = [[row for row in rows if row.policy == name] for name in GRADED]
    successes = [_mean(row.success for row in flown) for flown in mine]
    returns = [_mean(row.return_ for row in flown) for flown in mine]
    return float(cast(Any, stats).spearmanr(successes, returns).statistic)


def concordance(pairs: Sequence[tuple[float, float]]) -> float:
    """[-] Of the pairs of policies that differ in success, those that mean return puts in the same order.

    Args:
        pairs: Success and mean return of each policy.
    """
    told = [(a, b) for a, b in itertools.combinations(pairs, 2) if a[0] != b[0]]
    agree = [(a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in told]
    return float(np.mean(agree)) if agree else float("nan")


def spoiled(by_policy: Mapping[str, Sequence[Row]], spoiler: str) -> float:
    """[-] Mean return of a spoiler less that of `reference`, over the missions that both win."""
    won = {name: _won(by_policy.get(name, ())) for name in (spoiler, REFERENCE)}
    both = won[spoiler].keys() & won[REFERENCE].keys()
    return _mean(won[spoiler][mission] - won[REFERENCE][mission] for mission in both)


def _won(rows: Iterable[Row]) -> dict[tuple[int, int], float]:
    """Return of each mission that succeeded, by level and seed."""
    return {(row.level, row.seed): row.return_ for row in rows if row.success}


def member(rows: Sequence[Row]) -> Figure:
    """A policy in one family, and below and from `BLIND_FROM` on; keys of what never was are left out."""
    told = _told(rows) | {"episodes": len(rows)}
    low = _told([row for row in rows if row.level < BLIND_FROM])
    high = _told([row for row in rows if row.level >= BLIND_FROM])
    told |= {f"{key}_below_2": value for key, value in low.items()}
    return told | {f"{key}_from_2": value for key, value in high.items()}


def _told(rows: Sequence[Row]) -> Figure:
    if not rows:
        return {}
    failed = [row.return_ for row in rows if not row.success]
    told = {
        "success": _mean(row.success for row in rows),
        "return": _mean(row.return_ for row in rows),
        "failures": len(failed),
    }
    return told | ({"failed_return": _mean(failed)} if failed else {})


def family_figure(rows: Sequence[Row]) -> Figure:
    """Every policy of a family, and what its numbers say."""
    by_policy: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_policy[row.policy].append(row)
    policies = {name: member(mine) for name, mine in by_policy.items()}
    red = {n: c for n, c in policies.items() if n in RED_TEAM or n == SCRIPTS}
    blind = {n: c for n, c in red.items() if n in BLIND or n == SCRIPTS}
    whole = [(c["success"], c["return"]) for n, c in policies.items() if n in red or n in GRADED]
    paid = {n: c.get("failed_return", 0.0) for n, c in red.items()}
    dodged = max(paid.pop(name) for name in DODGERS)
    guessed = {n: c.get("success_from_2", float("nan")) for n, c in blind.items()}
    low = [c for c in blind.values() if "success_below_2" in c]
    reference = policies[REFERENCE]["return"]
    return {
        "max_redteam_failed_return": _most(paid),
        "best_paid": _first(paid),
        "dodger_failed_return": dodged,
        "max_blind_success": _most(guessed),
        "max_blind_success_below_2": max((c["success_below_2"] for c in low), default=float("nan")),
        "max_blind_failed_return_below_2": max(
            (c.get("failed_return_below_2", 0.0) for c in low), default=0.0
        ),
        "best_guesser": _first(guessed) if _most(guessed) > 0 else None,
        "reference_return": reference,
        **{f"{name}_gain": spoiled(by_policy, name) for name in SPOILERS},
        "exploit_gap": reference - max(_most(paid), dodged),
        "success_outranks_failure": outranking(rows),
        "spearman_graded": ability(rows),
        "concordance_zoo": concordance(whole),
        "attribution": attribution(by_policy[REFERENCE]),
        "policies": policies,
    }


def attribution(rows: Sequence[Row]) -> Figure:
    """Which step earned what: mean reward of an episode by command; the last step's share of the return."""
    earned: dict[str, float] = defaultdict(float)
    for row in rows:
        for command, reward in row.steps:
            earned[command] += reward / len(rows)
    total = sum(row.return_ for row in rows)
    last = sum(row.steps[-1][1] for row in rows) / total if total else float("nan")
    return {"by_command": dict(sorted(earned.items(), key=lambda item: -item[1])), "last_step": last}


def groups_figure(spreads: Sequence[Spread]) -> Figure:
    """Live groups and the standard deviation of the return within groups, by noise."""
    cells: Figure = {}
    for noise in sorted({each.group.noise for each in spreads}):
        mine = [each for each in spreads if each.group.noise == noise]
        within = _mean(float(np.std(each.returns)) for each in mine)
        cells[f"{noise:g}"] = {"live_groups": _mean(each.live for each in mine), "within_group_sd": within}
    return {"live_groups": _most({n: c["live_groups"] for n, c in cells.items()}), "groups": cells}


def _mean(values: Iterable[float]) -> float:
    told = list(values)
    return float(np.mean(told)) if told else float("nan")


def _most(values: Mapping[str, float]) -> float:
    return max((v for v in values.values() if not np.isnan(v)), default=float("nan"))


def _first(values: Mapping[str, float]) -> str:
    """Who has the most of it."""
    return max(values, key=lambda name: -1.0 if np.isnan(values[name]) else values[name])


# -- the whole ---------------------------------------------------------------------------------

WORST: Final = {
    "max_redteam_failed_return": max,
    "dodger_failed_return": max,
    "max_blind_success": max,
    "max_blind_success_below_2": max,
    "max_blind_failed_return_below_2": max,
    **{f"{name}_gain": max for name in SPOILERS},
    "reference_return": min,
    "exploit_gap": min,
    "success_outranks_failure": min,
    "concordance_zoo": min,
    "live_groups": min,
}
"""Keys of the head, and which family is the worst; beside them `spearman_graded`, over all families."""


@dataclass
class Audit:
    """The rows of a run, as far as its parts were flown."""

    rows: list[Row] = field(default_factory=list[Row])
    spreads: list[Spread] = field(default_factory=list[Spread])
    scripts: list[open_loop.Found] = field(default_factory=list[open_loop.Found])

    def figure(self) -> Figure:
        """The head and every family."""
        told = [row for script in self.scripts for row in searched(script)]
        families: Figure = {}
        for name in dict.fromkeys(row.family for row in self.rows):
            families[name] = family_figure([row for row in (*self.rows, *told) if row.family == name])
            families[name] |= groups_figure([s for s in self.spreads if s.group.family == name])
            families[name]["scripts"] = scripts_figure([s for s in self.scripts if s.search.family == name])
        head = {key: worst(cell[key] for cell in families.values()) for key, worst in WORST.items()}
        return head | {"spearman_graded": ability(self.rows), "families": families}


def searched(found: open_loop.Found) -> list[Row]:
    """The fresh flights of a found script."""
    search = found.search
    return [Row(SCRIPTS, search.family, search.level, won, paid) for won, paid in found.results]


def scripts_figure(scripts: Sequence[open_loop.Found]) -> Figure:
    """What the search found at each level: the script, its return in training, and on fresh missions."""
    cells: Figure = {}
    for found in scripts:
        told = member(searched(found))
        keys = ("success", "return", "failures", "failed_return", "episodes")
        script = [command.model_dump(mode="json", exclude_none=True) for command in found.script]
        cells[str(found.search.level)] = {
            **{key: told[key] for key in keys if key in told},
            "trained_return": found.trained,
            "script": script,
        }
    return cells
