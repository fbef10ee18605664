"""What a run looks like from outside: its windows of groups, the frontier of skill, and what is wrong.

A window is a generation, or as many slots as a generation has where a run has none. All of it is read from
the archive; nothing here decides anything.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from sqlite3 import Row
from typing import Any, Final

import numpy as np

from orbital_ops_env.curriculum.archive import Archive, Run
from orbital_ops_env.missions.catalog import LEVELS

FEW_LIVE: Final = 0.3
"""[-] share of mixed groups under which learning is slow,"""
FEW_LIVE_WINDOWS: Final = 3
"""for as many windows,"""
FLOWN: Final = 0.5
"""[-] of whose groups so many are whole."""
TAKEN_OVER: Final = 0.25
"""[-] share of a generation of one lineage."""
FEW_ADMITTED: Final = 0.2
"""[-] share of edited missions with a certificate."""
FEW_AGAIN: Final = 0.1
"""[-] episodes that were flown anew, to all outcomes."""
FALLEN: Final = 0.05
"""[-] by how much held-out success falls while that in training rises."""
CENTRES: Final = np.linspace(LEVELS[0], LEVELS[-1], 181)
"""Levels at which the frontier may be."""
TIE: Final = 1e-9
"""[-] of a log-likelihood."""
SLOPES: Final = np.geomspace(0.25, 4.0, 9)
"""[-] logits of success that a level may cost."""


@dataclass(frozen=True)
class Group:
    """What became of a slot."""

    window: int
    mission: str
    family: str
    level: int
    flown: int
    successes: int
    mean_return: float
    counts: bool
    """Whether it is one of its generation's own."""

    @property
    def success(self) -> float:
        """[-] share of successes."""
        return self.successes / self.flown

    @property
    def live(self) -> bool:
        """Whether it has both successes and failures."""
        return 0 < self.successes < self.flown


def groups(archive: Archive, run: Run) -> list[Group]:
    """The groups of a run whose members have all flown, in the order of their slots."""
    rows = archive.database.rows(
        "SELECT coalesce(b.generation, (b.number - 1) / ?) AS window, b.mission, b.generation, b.position,"
        " m.spec ->> '$.family' AS family, m.spec ->> '$.level' AS level,"
        " count(*) AS flown, sum(o.success) AS successes, avg(o.return) AS mean"
        " FROM outcome o JOIN binding b USING (run, slot)"
        " JOIN mission m ON m.run = b.run AND m.hash = b.mission WHERE o.run = ?"
        " GROUP BY b.slot HAVING count(*) = ? ORDER BY b.slot",
        run.preset.missions,
        run.id,
        run.preset.members,
    )
    return [
        Group(
            row["window"],
            row["mission"],
            row["family"],
            int(row["level"]),
            row["flown"],
            row["successes"],
            row["mean"],
            row["generation"] is None or row["position"] is not None,
        )
        for row in rows
    ]


def training_success(archive: Archive, run: Run) -> float | None:
    """[-] Success of the last groups, as many as a generation has; None before there is one."""
    last = groups(archive, run)[-run.preset.missions :]
    return float(np.mean([group.success for group in last])) if last else None


def windows(archive: Archive, run: Run) -> list[dict[str, Any]]:
    """Numbers of each window, the oldest first."""
    seen = groups(archive, run)
    return [
        _window(archive, run, n, [g for g in seen if g.window == n]) for n in sorted({g.window for g in seen})
    ]


def _window(archive: Archive, run: Run, number: int, seen: Sequence[Group]) -> dict[str, Any]:
    roots = Counter(
        row["root"]
        for row in archive.database.rows(
            "SELECT root FROM place WHERE run = ? AND generation = ?", run.id, number
        )
    )
    return {
        "window": number,
        "groups": len(seen),
        "episodes": sum(g.flown for g in seen),
        "success": float(np.mean([g.success for g in seen])),
        "return": float(np.mean([g.mean_return for g in seen])),
        "live": float(np.mean([g.live for g in seen])),
        "repeated": sum(not g.counts for g in seen),
        "estimates": np.histogram([g.success for g in seen], bins=10, range=(0, 1))[0].tolist(),
        "families": Counter(g.family for g in seen),
        "levels": [sum(g.level == level for g in seen) for level in LEVELS],
        "frontier": {
            family: frontier([g for g in seen if g.family == family])
            for family in sorted({g.family for g in seen})
        },
        "lineage": max(roots.values()) / roots.total() if roots else None,
        "certificates": _certificates(archive, run, number),
    }


def _certificates(archive: Archive, run: Run, number: int) -> dict[str, dict[str, int]]:
    """Verdicts on the missions that were made for a generation, by the operator of their last edit."""
    rows = archive.database.rows(
        "SELECT operator, verdict, count(*) AS n FROM certificate WHERE run = ? AND generation = ?"
        " GROUP BY operator, verdict ORDER BY operator, verdict",
        run.id,
        number,
    )
    told: dict[str, dict[str, int]] = {}
    for row in rows:
        told.setdefault(row["operator"], {})[row["verdict"]] = row["n"]
    return told


def frontier(seen: Sequence[Group]) -> float:
    """The level at which half of the episodes succeed, between the least and the greatest that were flown.

    The most likely centre of a logistic curve that falls with the level; the middle one of several. Where all
    succeed it is the greatest level, and skill may reach higher; where none does, the least, and it may not
    reach that.
    """
    levels, flown, won = np.array([(g.level, g.flown, g.successes) for g in seen], float).T
    logits = SLOPES[:, None, None] * (CENTRES[:, None] - levels)
    told = -(won * np.logaddexp(0, -logits) + (flown - won) * np.logaddexp(0, logits)).sum(axis=2)
    likeliest = told.max(axis=0)
    centre = np.median(CENTRES[likeliest >= likeliest.max() - TIE])
    return float(np.clip(centre, levels.min(), levels.max()))


# -- lineage -----------------------------------------------------------------------------------


def missions(archive: Archive, run: Run, generation: int | None = None) -> list[dict[str, Any]]:
    """Missions of a generation, or all that were flown, with what became of them."""
    seen: dict[str, list[Group]] = {}
    for group in groups(archive, run):
        seen.setdefault(group.mission, []).append(group)
    query = "SELECT mission, root, min(generation) AS first FROM place WHERE run = ? GROUP BY mission"
    places = {row["mission"]: row for row in archive.database.rows(query, run.id)}
    asked = list(seen) if generation is None else archive.places(run.id, generation)
    if generation is not None and not asked:
        last = archive.last_generation(run.id)
        expected = "it has none" if last is None else f"expected 0 to {last}"
        raise LookupError(f"run {run.id!r} has no generation {generation}: {expected}")
    return [_mission(archive, run, each, seen.get(each, []), places.get(each)) for each in asked]


def _mission(
    archive: Archive, run: Run, content_hash: str, seen: Sequence[Group], place: Row | None
) -> dict[str, Any]:
    spec = archive.mission(run.id, content_hash)
    flown = sum(g.flown for g in seen)
    return {
        "mission": content_hash,
        "family": spec.family,
        "level": spec.level,
        "root": place["root"] if place else None,
        "generation": place["first"] if place else None,
        "groups": len(seen),
        "episodes": flown,
        "success": sum(g.successes for g in seen) / flown if flown else None,
    }


def mission(archive: Archive, run: Run, content_hash: str) -> dict[str, Any]:
    """All that is known of a mission: specification, certificate, the chain of edits that made it."""
    spec = json.loads(archive.mission(run.id, content_hash).canonical_json)
    query = "SELECT verdict, evidence FROM certificate WHERE run = ? AND hash = ?"
    found = archive.database.rows(query, run.id, content_hash)
    certificate = [{"verdict": row["verdict"], "evidence": json.loads(row["evidence"])} for row in found]
    edges = {edge["child"]: edge for edge in lineage(archive, run)}
    chain: list[dict[str, Any]] = []
    while edge := edges.pop(chain[-1]["parent"] if chain else content_hash, None):
        chain.append(edge)
    seen = [group for group in groups(archive, run) if group.mission == content_hash]
    return {
        "mission": content_hash,
        "spec": spec,
        "groups": [[group.successes, group.flown] for group in seen],
        "certificate": certificate[0] if certificate else None,
        "lineage": chain,
    }


def lineage(archive: Archive, run: Run) -> list[dict[str, Any]]:
    """Every edit that made a mission: `child`, `parent`, `operator`, `harder`."""
    query = "SELECT child, parent, operator, harder FROM edge WHERE run = ? ORDER BY child"
    return [dict(row) | {"harder": bool(row["harder"])} for row in archive.database.rows(query, run.id)]


# -- what is wrong -----------------------------------------------------------------------------


def alarms(archive: Archive, run: Run, told: Sequence[dict[str, Any]]) -> list[str]:
    """What somebody should look at, in words.

    Args:
        archive: Has the run.
        run: The run.
        told: Its windows.
    """
    found: list[str] = []
    recent = [each for each in told if each["groups"] >= FLOWN * run.preset.missions][-FEW_LIVE_WINDOWS:]
    if len(recent) == FEW_LIVE_WINDOWS and all(each["live"] < FEW_LIVE for each in recent):
        shares = ", ".join(f"{each['live']:.2f}" for each in recent)
        found.append(f"few groups with both successes and failures: {shares} of the last windows")
    if told and (told[-1]["lineage"] or 0) > TAKEN_OVER:
        found.append(f"one lineage has {told[-1]['lineage']:.2f} of the generation")
    verdicts = Counter[str]()
    for each in told[-1]["certificates"].values() if told else ():
        verdicts.update(each)
    if verdicts and verdicts["accepted"] < FEW_ADMITTED * verdicts.total():
        found.append(f"{verdicts['accepted']} of {verdicts.total()} edited missions got a certificate")
    for failed in archive.events(run.id, "failed", "made")[-1:]:
        if "error" in failed:
            found.append(f"no generation could be made after {failed['after']}: {failed['error']}")
    return found + _not_counted(archive, run) + _diverging(archive.events(run.id, "held_out"))


def _not_counted(archive: Archive, run: Run) -> list[str]:
    """Whether what is flown counts: groups that became whole, members that were flown once."""
    found: list[str] = []
    counts, size, members = archive.counts(run.id), run.preset.missions, run.preset.members
    last = counts["slots"] - size
    whole = archive.whole_share(run.id, max(last - size, 0) + 1, last, members) if last > 0 else 1.0
    if whole < run.preset.reported:
        found.append(
            f"only {whole:.2f} of the groups that should be whole by now have {members} outcomes: expected "
            "the trainer's group size in `members`, and every member of every slot flown to its end"
        )
    if counts["again"] > max(FEW_AGAIN * counts["outcomes"], 1):
        found.append(
            f"{counts['again']} episodes were flown anew, of members that had one: expected new slots"
        )
    return found


def _diverging(reports: Sequence[dict[str, Any]]) -> list[str]:
    """Whether success on missions that are not trained on is under its best while that in training rose.

    In training there is none before anything was flown; what falls from there has fallen by training.
    """
    if not reports[1:]:
        return []
    before, now = max(reports[:-1], key=lambda each: each["success"]), reports[-1]
    fell = before["success"] - now["success"]
    if fell <= FALLEN or now["training"] is None:
        return []
    if before["training"] is None:
        return [f"held-out success fell by {fell:.2f} since training began"]
    rose = now["training"] - before["training"]
    if rose <= 0:
        return []
    return [f"held-out success fell by {fell:.2f} while that in training rose by {rose:.2f}"]
