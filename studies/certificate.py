"""`make bench-certificate`: how often a certificate is right about missions whose worth is known.

Missions of four labels (`studies/labelled.py`) are certified as those of a frozen split are, on episode seeds
of their own: the unsolvable, those that luck decides and the trivial are to be refused, the good ones
accepted. A run of fewer missions prints its table and writes nothing.
"""

import argparse
import multiprocessing
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from orbital_ops_env.curriculum.certificate import SPLIT, Certificate, certify
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.server import flight
from orbital_ops_env.studies import figures, labelled
from orbital_ops_env.studies.evaluate import positive
from orbital_ops_env.studies.instruments import fly_all
from orbital_ops_env.training.results import wilson

MISSIONS: Final = 50
"""[-] of each label."""
CERTIFIED_SEED: Final = 700_000
"""Episode seeds of certificates from here on."""
BARS: Final = {
    "reject_unsolvable": 0.98,
    "reject_coin_flip": 0.95,
    "reject_trivial": 0.98,
    "accept_good": 0.85,
}
"""[-] Least share of each figure."""


@dataclass(frozen=True)
class Case:
    """A mission whose worth is known."""

    label: str
    slot: int
    spec: MissionSpec

    @property
    def key(self) -> str:
        """The figure that it counts in."""
        return f"{'accept' if self.label == 'good' else 'reject'}_{self.label}"

    def right(self, certificate: Certificate) -> bool:
        """Whether a certificate says of it what it should."""
        return certificate.accepted == (self.label == "good")


def cases(pool: ProcessPoolExecutor, missions: int) -> list[Case]:
    """So many missions of each label."""
    slots = range(missions)
    good = fly_all(pool, labelled.good, slots, "good missions")
    specs = {
        "unsolvable": [labelled.unsolvable(slot) for slot in slots],
        "coin_flip": [labelled.coin_flip(spec, slot) for slot, spec in enumerate(good)],
        "trivial": [labelled.trivial(slot) for slot in slots],
        "good": good,
    }
    return [Case(label, slot, specs[label][slot]) for label in labelled.LABELS for slot in slots]


def certified(case: Case) -> Certificate:
    """The certificate of a case."""
    first = CERTIFIED_SEED + SPLIT.seeds * case.slot
    return certify(case.spec, flight.by_name, range(first, first + SPLIT.seeds), SPLIT)


def figure(flown: Sequence[tuple[Case, Certificate]]) -> dict[str, Any]:
    """The share of right certificates of each label with its interval, and what stands behind it."""
    told: dict[str, Any] = {}
    for key in BARS:
        mine = [(case, certificate) for case, certificate in flown if case.key == key]
        right = sum(case.right(certificate) for case, certificate in mine)
        told[key] = right / len(mine)
        told[f"{key}_ci95"] = wilson(right, len(mine))
        told[f"{key}_counts"] = {
            "missions": len(mine),
            "right": right,
            **Counter(certificate.verdict for _, certificate in mine),
        }
    return told | {"missions": [_row(*each) for each in flown]}


def _row(case: Case, certificate: Certificate) -> dict[str, Any]:
    won, flown = certificate.solved
    return {
        "label": case.label,
        "right": case.right(certificate),
        "family": case.spec.family,
        "level": case.spec.level,
        "seed": case.spec.seed,
        "spec_hash": certificate.spec_hash,
        "verdict": certificate.verdict,
        "solved": won,
        "flown": flown,
        "trivial_by": certificate.trivial_by,
    }


def table(told: dict[str, Any]) -> Table:
    """The figure as a table."""
    shown = Table("", "share", "95 %", "bar", "missions", "verdicts", title="Certificates of known missions")
    for key, bar in BARS.items():
        counts = dict(told[f"{key}_counts"])
        missions, _ = counts.pop("missions"), counts.pop("right")
        low, high = told[f"{key}_ci95"]
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        shown.add_row(
            key, f"{told[key]:.2f}", f"{low:.2f} to {high:.2f}", f"{bar:.2f}", str(missions), verdicts
        )
    return shown


def main() -> None:
    """Certify known missions; print the table, and write the figure if there are `MISSIONS` of each label."""
    parser = argparse.ArgumentParser(
        prog="certificate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--missions", type=positive, default=MISSIONS, help="of each label; %(default)s")
    parser.add_argument("--workers", type=positive, help="processes; default: all cores")
    chosen = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(chosen.workers, mp_context=spawn) as pool:
        known = cases(pool, chosen.missions)
        told = figure(list(zip(known, fly_all(pool, certified, known, "certificates"), strict=True)))
    Console().print(table(told))
    print("\n".join(f"wrong: {row}" for row in told["missions"] if not row["right"]))
    if chosen.missions != MISSIONS:
        return
    note = (
        f"missions from {labelled.FIRST_SEED}; episodes that tell labels from {labelled.JUDGED_SEED}, "
        f"{labelled.JUDGED} a slot; episodes of certificates from {CERTIFIED_SEED}, {SPLIT.seeds} a slot"
    )
    print(f"written to {figures.write('certificate.json', 'make bench-certificate', note, told)}")


if __name__ == "__main__":
    main()
