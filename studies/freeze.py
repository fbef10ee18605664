"""`make freeze`: certify missions and freeze them as the splits that models are measured on.

Candidates of each split, family and level come in the order of their seeds. One is refused if it is a
near-duplicate of a mission frozen before it, if `reference` fails on more than one of 16 episode seeds, or if
anybody succeeds without skill. A cell is full when it has as many as it should; one that cannot be filled is
told in the manifest, and the freeze then fails after it has written everything. The data go to
`missions/frozen/`, what was refused and why to `plots/data/freeze.json`.

Every certificate goes at once to a journal under `outputs/freeze/`, and a freeze that is killed goes on where
it was. Its keys hold a hash of all sources that decide a certificate, so the journal is never stale; delete
it to save space. A part of it, to see how it goes, is frozen elsewhere and makes no figure:

    make freeze ARGS='--splits val --levels 0 4 --most 1 --into outputs/freeze/part'
"""

import argparse
import functools
import hashlib
import json
import lzma
import multiprocessing
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from orbital_ops_env.missions import ood
from orbital_ops_env.missions.catalog import FAMILIES, LEVELS, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.splits import (
    FIRST_SEEDS,
    FROZEN,
    FROZEN_SPLITS,
    RARE,
    Task,
    encode,
    episode_seed,
)
from orbital_ops_env.studies import evaluate, figures, freeze_figure, oracle
from orbital_ops_env.studies.candidates import Candidate, Cell, Certificates, settled, unfilled
from orbital_ops_env.studies.evaluate import positive
from orbital_ops_env.studies.journal import Journal

OFTEN_TASKS: Final = {"val": 3, "test": 10}
"""[-] tasks of each family and level,"""
RARE_TASKS: Final = {"val": 2, "test": 4}
"""[-] those of long missions,"""
OOD_TASKS: Final = 64
"""[-] and those of a split of new faults."""
ORACLES: Final = 3
"""[-] candidates of a cell that `reference` cannot solve and the oracle tries."""
DECIDING: Final = (
    *evaluate.HELD,
    "client",
    "policies",
    "curriculum",
    "studies/candidates.py",
    "studies/oracle.py",
)
"""Sources that decide a certificate and the oracle's verdict."""
JOURNAL: Final = Path("outputs/freeze/journal.jsonl")


@dataclass(frozen=True)
class Options:
    """What was asked for."""

    splits: list[str]
    families: list[str]
    levels: list[int]
    most: int | None
    oracle: int
    budget: int
    workers: int | None
    into: Path | None
    journal: Path


# -- what is certified -------------------------------------------------------------------------


def cells(chosen: Options) -> list[Cell]:
    """Every cell of the splits, in the order in which they are filled."""
    return [cell for split in FROZEN_SPLITS if split in chosen.splits for cell in _cells(split, chosen)]


def _cells(split: str, chosen: Options) -> Iterator[Cell]:
    most = chosen.most or OOD_TASKS
    if split not in FIRST_SEEDS:
        yield Cell(
            split, split, min(OOD_TASKS, most), functools.cache(functools.partial(ood.generate, split))
        )
        return
    for family in chosen.families:
        tasks = (RARE_TASKS if family in RARE else OFTEN_TASKS)[split]
        for level in chosen.levels:
            draw = functools.cache(functools.partial(_ordinary, split, family, level))
            yield Cell(split, f"{family} level={level}", min(tasks, most), draw)


def _ordinary(split: str, family: str, level: int, number: int) -> MissionSpec:
    return generate(family, level, FIRST_SEEDS[split] + number)


# -- what is written ---------------------------------------------------------------------------


def write(
    seen: Sequence[Candidate], missing: list[str], folder: Path, source: dict[str, str]
) -> dict[str, Any]:
    """Write the splits and their manifest, and give that; a split without tasks is an empty file.

    Args:
        seen: The candidates.
        missing: What is wrong with cells that are not full.
        folder: Where to.
        source: What made them.
    """
    manifest: dict[str, Any] = {
        **source,
        "unfilled": missing,
        "splits": {},
    }
    folder.mkdir(parents=True, exist_ok=True)
    for split in FROZEN_SPLITS:
        kept = [each.spec for each in seen if each.kept and each.cell.split == split]
        content = encode(Task(spec, episode_seed(spec)) for spec in kept)
        (folder / f"{split}.jsonl.xz").write_bytes(lzma.compress(content, preset=lzma.PRESET_EXTREME))
        digest = hashlib.sha256(content).hexdigest()
        manifest["splits"][split] = {"tasks": len(kept), "sha256": digest}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def options() -> Options:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        prog="freeze", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", nargs="+", default=list(FROZEN_SPLITS), choices=FROZEN_SPLITS)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--levels", nargs="+", type=int, default=list(LEVELS), choices=LEVELS)
    parser.add_argument("--most", type=positive, help="tasks of a cell, if it should have more")
    parser.add_argument(
        "--oracle", type=positive, default=ORACLES, help="unsolved, of each cell; %(default)s"
    )
    parser.add_argument("--budget", type=positive, default=oracle.BUDGET, help="its flights; %(default)s")
    parser.add_argument("--workers", type=positive, help="processes; default: one a core")
    parser.add_argument("--into", type=Path, help=f"folder for the data; default: {FROZEN}")
    parser.add_argument("--journal", type=Path, default=JOURNAL, help="%(default)s")
    chosen = Options(**vars(parser.parse_args()))
    if chosen.into is None and not whole(chosen):
        parser.error("a part of the splits does not replace them: name a folder with --into")
    if whole(chosen) and figures.commit().endswith("-dirty"):
        parser.error("files differ from the commit that the manifest will name: commit them first")
    return chosen


def whole(chosen: Options) -> bool:
    """Whether everything is frozen, and as it should be."""
    parts = ((chosen.splits, FROZEN_SPLITS), (chosen.families, FAMILIES), (chosen.levels, LEVELS))
    asked = (chosen.most, chosen.oracle, chosen.budget)
    return asked == (None, ORACLES, oracle.BUDGET) and all(
        set(part) == set(everything) for part, everything in parts
    )


def main() -> None:
    """Certify on all cores, write the splits, and the figure if they are whole."""
    chosen, console = options(), Console()
    command = "make freeze" + (f" ARGS='{shlex.join(sys.argv[1:])}'" if sys.argv[1:] else "")
    source = {"command": command, "commit": figures.commit(), "sources": evaluate.source_hash(DECIDING)}
    certificates = Certificates(Journal(chosen.journal), source["sources"])
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(chosen.workers or os.cpu_count(), mp_context=spawn) as pool:
        seen = settled(todo := cells(chosen), certificates, pool)
        refused = freeze_figure.unsolved(seen, chosen.oracle)
        bounds = certificates.bound(pool, refused, chosen.budget)
    missing = unfilled(todo, seen)
    manifest = write(seen, missing, chosen.into or FROZEN, source)
    figure = freeze_figure.figure(seen, bounds) | {
        key: manifest[key] for key in ("commit", "unfilled", "splits")
    }
    console.print(freeze_figure.table(figure), manifest["splits"])
    if whole(chosen):
        note = f"missions from {FIRST_SEEDS}, ood by number; certificate seeds by content hash"
        console.print(f"written to {figures.write('freeze.json', command, note, figure)}")
    if missing:
        sys.exit("\n".join((*missing, "Make these missions solvable by skill, and by nothing less.")))


if __name__ == "__main__":
    main()
