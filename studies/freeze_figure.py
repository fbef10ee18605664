"""How many candidates are worth freezing, by family and level, and which ones `reference` cannot solve."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.table import Table

from orbital_ops_env.missions.catalog import FAMILIES, LEVELS
from orbital_ops_env.missions.splits import FIRST_SEEDS
from orbital_ops_env.studies.candidates import Candidate, Cell
from orbital_ops_env.studies.success import CORE, TOP

ACCEPTED, UNSOLVED, TRIVIAL, NEAR = "accepted", "unsolved", "trivial", "near_duplicate"
SPANS: Final = {"low": CORE, "high": TOP}
Figure = dict[str, Any]


def verdict(candidate: Candidate) -> str:
    """What became of a candidate."""
    return candidate.certified.verdict if candidate.certified else NEAR


def unsolved(seen: Sequence[Candidate], most: int) -> list[Candidate]:
    """The first candidates of each cell that `reference` cannot solve."""
    found: dict[Cell, list[Candidate]] = {}
    for each in seen:
        if verdict(each) == UNSOLVED:
            found.setdefault(each.cell, []).append(each)
    return [each for mine in found.values() for each in mine[:most]]


def figure(seen: Sequence[Candidate], bounds: Mapping[str, Mapping[str, int]]) -> Figure:
    """`acceptance.<family>`, `ood.<split>` and `refused`.

    A family's acceptance in a span of levels is the mean of the levels': one that accepts few has more
    candidates.

    Args:
        seen: The candidates.
        bounds: The oracle's verdicts, by content hash.
    """
    ordinary = [each for each in seen if each.cell.split in FIRST_SEEDS]
    others = {each.cell.split for each in seen} - FIRST_SEEDS.keys()
    families = [name for name in FAMILIES if any(each.spec.family == name for each in ordinary)]
    return {
        "acceptance": {
            name: _family([each for each in ordinary if each.spec.family == name]) for name in families
        },
        "ood": {name: counts([each for each in seen if each.cell.split == name]) for name in sorted(others)},
        "refused": [_refused(each, bounds) for each in seen if verdict(each) == UNSOLVED],
    }


def _family(mine: Sequence[Candidate]) -> Figure:
    levels = {n: counts([each for each in mine if each.spec.level == n]) for n in LEVELS}
    found: Figure = {"counts": {}, "levels": {str(n): told for n, told in levels.items() if told["flown"]}}
    for name, span in SPANS.items():
        shares = [told for n in span if (told := levels[n]["acceptance"]) is not None]
        found[name] = sum(shares) / len(shares) if shares else None
        found["counts"][name] = counts([each for each in mine if each.spec.level in span])
    return found


def counts(mine: Sequence[Candidate]) -> Figure:
    """How many candidates were flown, what became of them, and the share of them that are accepted.

    A cell ends with the candidate that fills it, which is always accepted: the share leaves it out, and is
    None of no others. Source: Haldane (1945), On a method of estimating frequencies, Biometrika 33.
    """
    found = Counter(map(verdict, mine))
    last = {each.cell: each for each in mine}
    judged = [verdict(each) for each in mine if each is not last[each.cell] and verdict(each) != NEAR]
    shown = {name: found[name] for name in (ACCEPTED, UNSOLVED, TRIVIAL, NEAR)}
    share = judged.count(ACCEPTED) / len(judged) if judged else None
    return {"acceptance": share, "flown": len(mine) - found[NEAR], **shown}


def _refused(candidate: Candidate, bounds: Mapping[str, Mapping[str, int]]) -> Figure:
    """A candidate that `reference` cannot solve, with what the oracle makes of the episodes it lost."""
    spec, certified = candidate.spec, candidate.certified
    assert certified is not None
    return {
        "split": candidate.cell.split,
        "family": spec.family,
        "level": spec.level,
        "seed": spec.seed,
        "fault": "+".join(fault.kind for fault in spec.faults),
        "solved": certified.solved,
        "flown": certified.flown,
        "oracle": bounds.get(spec.content_hash),
    }


def table(found: Figure) -> Table:
    """Acceptance by family and split of new faults."""
    shown = Table("", "accepted", "of", "unsolved", "trivial", "near others", title="Candidates")
    rows: dict[str, Figure] = {}
    for family, mine in found["acceptance"].items():
        rows |= {f"{family} {name}": mine["counts"][name] for name in SPANS}
    for name, mine in (rows | found["ood"]).items():
        numbers = (mine[key] for key in (ACCEPTED, "flown", UNSOLVED, TRIVIAL, NEAR))
        shown.add_row(name, *(str(number) for number in numbers))
    return shown
