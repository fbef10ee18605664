"""Candidates for a frozen split: which of them are kept, and why the others are not.

Which ones are kept depends on the order of the candidates alone, not on the order in which certificates are
made: the walk over them is done again with every certificate that it has asked for, until it asks for none.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from typing import Any, Final

from orbital_ops_env.curriculum.certificate import SOLVER, SPLIT, certify
from orbital_ops_env.missions.likeness import Missions
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.splits import certificate_seeds
from orbital_ops_env.server import flight
from orbital_ops_env.studies import oracle
from orbital_ops_env.studies.journal import Journal

PATIENCE: Final = 20
"""[-] candidates for each task wanted, after which a cell is given up."""


@dataclass(frozen=True)
class Cell:
    """Where tasks of one kind come from."""

    split: str
    name: str
    wanted: int
    draw: Callable[[int], MissionSpec]
    """The candidate of a number, 0 or more."""


@dataclass(frozen=True)
class Certified:
    """What a candidate's certificate says."""

    verdict: str
    solved: int
    """[-] episodes that `reference` won,"""
    flown: int
    """[-] of those that it flew,"""
    lost: tuple[int, ...]
    """and the seeds of the others."""
    trivial_by: str | None
    """Who succeeds without skill."""


@dataclass(frozen=True)
class Candidate:
    """A mission that was looked at, and what became of it."""

    cell: Cell
    spec: MissionSpec
    near_duplicate: bool
    certified: Certified | None
    """None if it was not flown, or not yet."""

    @property
    def kept(self) -> bool:
        """Whether it is frozen, as far as is known."""
        return not self.near_duplicate and (self.certified is None or self.certified.verdict == "accepted")


# -- certificates ------------------------------------------------------------------------------


def certified(spec: MissionSpec) -> dict[str, Any]:
    """A candidate's certificate, as JSON."""
    told = certify(spec, flight.by_name, certificate_seeds(spec, SPLIT.seeds), SPLIT)
    mine = [each for each in told.evidence if each.policy == SOLVER]
    lost = tuple(each.episode_seed for each in mine if not each.succeeded)
    return asdict(Certified(told.verdict, len(mine) - len(lost), len(mine), lost, told.trivial_by))


def bounded(job: tuple[MissionSpec, Sequence[int], int]) -> dict[str, int]:
    """How many of the episodes that `reference` lost the oracle wins, with so many flights each."""
    spec, lost, budget = job
    won = sum(oracle.improved(spec, seed, budget)[1].succeeded for seed in lost)
    return {"solved": won, "flown": len(lost), "budget": budget}


# -- the walk ----------------------------------------------------------------------------------


class Certificates:
    """Certificates and the oracle's verdicts, those found before included."""

    def __init__(self, journal: Journal, source: str) -> None:
        self._journal = journal
        self._source = source

    def of(self, spec: MissionSpec) -> Certified | None:
        """A candidate's certificate; None if it has none yet."""
        told = self._journal.get(self._key(spec))
        return None if told is None else Certified(**told | {"lost": tuple(told["lost"])})

    def certify(self, pool: Executor, specs: Sequence[MissionSpec]) -> None:
        """Certify candidates."""
        self._journal.fill(pool, certified, {self._key(spec): spec for spec in specs}, "certificates")

    def bound(self, pool: Executor, refused: Sequence[Candidate], budget: int) -> dict[str, dict[str, int]]:
        """The oracle's verdicts on candidates that `reference` cannot solve, by content hash."""
        keys = {each.spec.content_hash: self._key(each.spec, f"oracle {budget}") for each in refused}
        jobs = {
            keys[each.spec.content_hash]: (each.spec, each.certified.lost, budget)
            for each in refused
            if each.certified
        }
        self._journal.fill(pool, bounded, jobs, "oracle")
        return {content: self._journal.get(key) for content, key in keys.items()}

    def _key(self, spec: MissionSpec, what: str = f"{SPLIT.needed}/{SPLIT.seeds}") -> str:
        return f"{spec.content_hash} {what} {self._source}"


def walk(todo: Sequence[Cell], known: Callable[[MissionSpec], Certified | None]) -> list[Candidate]:
    """The candidates until every cell is full or given up, if those without a certificate were to get one.

    Args:
        todo: Cells in order.
        known: The certificate of a candidate, if it has one.
    """
    frozen, seen = Missions(), list[Candidate]()
    for cell in todo:
        mine: list[Candidate] = []
        while sum(each.kept for each in mine) < cell.wanted and len(mine) < PATIENCE * cell.wanted:
            spec = cell.draw(len(mine))
            near = frozen.near(spec)
            mine.append(Candidate(cell, spec, near, None if near else known(spec)))
            if mine[-1].kept:
                frozen.add(spec)
        seen += mine
    return seen


def unfilled(todo: Sequence[Cell], seen: Sequence[Candidate]) -> list[str]:
    """What is wrong with each cell that was given up."""
    found: list[str] = []
    for cell in todo:
        mine = [each for each in seen if each.cell is cell]
        kept, near = sum(each.kept for each in mine), sum(each.near_duplicate for each in mine)
        if kept < cell.wanted:
            verdicts = [each.certified.verdict for each in mine if each.certified]
            found.append(
                f"{cell.split}, {cell.name}: {kept} of {cell.wanted} tasks after {len(mine)} candidates: "
                f"{verdicts.count('unsolved')} unsolved, {verdicts.count('trivial')} trivial, {near} near"
            )
    return found


def settled(todo: Sequence[Cell], certificates: Certificates, pool: Executor) -> list[Candidate]:
    """The candidates with all their certificates; the same in whatever order these were made."""
    while True:
        seen = walk(todo, certificates.of)
        pending = [each.spec for each in seen if each.kept and each.certified is None]
        if not pending:
            return seen
        certificates.certify(pool, pending)
