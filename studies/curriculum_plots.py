"""`make plots`: pictures of the curriculum, from the benches' figures or from a run of one's own.

    make plots
    make plots ARGS='outputs/training/grpo/checkpoint-30/curriculum.json'

The first draws from `plots/data/`: `plots/curriculum.png`, success on held-out missions by curriculum;
`plots/curriculum_run.png`, frontier of skill, success estimates with the band that teaches, and what was
reported on held-out missions; `plots/curriculum_lineage.png`. The second draws the last two of a snapshot,
beside it.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from orbital_ops_env.curriculum import metrics, snapshot
from orbital_ops_env.curriculum.archive import Archive
from orbital_ops_env.curriculum.database import IN_MEMORY, Database
from orbital_ops_env.studies import figures
from orbital_ops_env.studies.curriculum import ROLLOUTS

PICTURES: Final = figures.ROOT / "plots"
SIZE: Final = (11.0, 3.8)
"""[in] of a picture."""
DPI: Final = 130
FONT: Final = 12
"""[pt] of every text."""
COLOURS: Final = {
    "eva": "tab:blue",
    "ladder030": "tab:orange",
    "uniform": "tab:grey",
    "eva_literal": "tab:red",
    "ladder070": "tab:green",
}
BAND: Final = (0.1, 0.9)
"""[-] success between which a group of eight is likely mixed."""
ROOTS: Final = 6
"""[-] lineages that are drawn, the largest."""
Run = Mapping[str, Any]
"""`windows`, `missions`, `lineage` and `held_out` of a run."""


def of_archive(archive: Archive, name: str) -> dict[str, Any]:
    """What is drawn of a run."""
    run = archive.run(name)
    return {
        "windows": metrics.windows(archive, run),
        "missions": metrics.missions(archive, run),
        "lineage": metrics.lineage(archive, run),
        "held_out": archive.events(name, "held_out"),
    }


# -- held-out success --------------------------------------------------------------------------


def compared(synthetic: Mapping[str, Any], real: Mapping[str, Any], path: Path) -> Path:
    """Success on held-out missions: of the synthetic learner by rollouts, of the apprentices by episodes."""
    figure, (left, right) = _figure(2)
    for preset, colour in COLOURS.items():
        cell = synthetic["clean"][preset]
        rollouts = np.linspace(0, ROLLOUTS / 1000, len(cell["curve"]))
        left.fill_between(rollouts, *cell["curve_range"], color=colour, alpha=0.15)
        left.plot(rollouts, cell["curve"], color=colour, label=preset)
    _axes(left, "thousands of rollouts", "held-out success", "synthetic learner, all seeds")
    for preset, cell in real["clean"].items():
        for curve in cell["curves"]:
            right.plot(real["episodes"], curve, "o-", color=COLOURS[preset], alpha=0.4)
        mean = np.mean(cell["curves"], axis=0)
        right.plot(real["episodes"], mean, color=COLOURS[preset], label=preset, linewidth=2)
    _axes(right, "episodes", "success on val", "apprentice on the real simulator")
    return _written(figure, path)


# -- a run -------------------------------------------------------------------------------------


def run_picture(run: Run, path: Path) -> Path:
    """Frontier of skill, success estimates with the band that teaches, and success on held-out missions.

    The frontier is within the levels that were flown.
    """
    figure, (left, middle, right) = _figure(3)
    frontiers: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for window in run["windows"]:
        for family, level in window["frontier"].items():
            frontiers[family].append((window["window"], level))
    for family, points in frontiers.items():
        left.plot(*zip(*points, strict=True), "o-", label=family)
    _axes(left, "generation", "level of half success", "frontier of skill", top=9.0)
    _whole_numbers(left)
    estimates = np.sum([window["estimates"] for window in run["windows"]], axis=0)
    edges = np.linspace(0, 1, len(estimates) + 1)
    middle.axvspan(*BAND, color="tab:green", alpha=0.15, label="teaches")
    middle.bar(edges[:-1], estimates / estimates.sum(), np.diff(edges), align="edge", edgecolor="white")
    _axes(middle, "success of a group", "share of groups", "success estimates")
    for key, label in (("success", "held out"), ("training", "in training")):
        right.plot([report[key] for report in run["held_out"]], "o-", label=label)
    _axes(
        right,
        "report",
        "success",
        "held-out missions" if run["held_out"] else "no report on held-out missions",
    )
    _whole_numbers(right)
    return _written(figure, path)


def lineage_picture(run: Run, path: Path) -> Path:
    """The largest lineages: a dot for a mission, by generation, coloured by success; a line for its edits."""
    figure, (axes,) = _figure(1)
    known = {mission["mission"]: mission for mission in run["missions"] if mission["root"]}
    parent = {edge["child"]: edge["parent"] for edge in run["lineage"]}
    sizes: dict[str, int] = defaultdict(int)
    for mission in known.values():
        sizes[mission["root"]] += 1
    places: dict[str, tuple[float, float]] = {}
    names: dict[float, str] = {}
    for root in sorted(sizes, key=lambda each: -sizes[each])[:ROOTS]:
        descent = _descent(root, known.values())
        names[float(len(places))] = descent[0]["family"]
        for mission in descent:
            places[mission["mission"]] = (mission["generation"], float(len(places)))
    for child, (x, y) in places.items():
        if before := places.get(_flown_before(child, parent, places)):
            axes.plot((before[0], x), (before[1], y), color="lightgrey", zorder=1)
    points = np.array(list(places.values()))
    shade = [known[each]["success"] for each in places]
    dots = axes.scatter(points[:, 0], points[:, 1], c=shade, cmap="RdYlGn", vmin=0, vmax=1, zorder=2)
    figure.colorbar(dots, label="success")
    axes.set_xlabel("generation", fontsize=FONT)
    axes.set_yticks(list(names), list(names.values()))
    axes.set_title("largest lineages, a dot for each mission", fontsize=FONT)
    _whole_numbers(axes)
    return _written(figure, path)


def _descent(root: str, missions: Iterable[Any]) -> list[Any]:
    mine = [mission for mission in missions if mission["root"] == root]
    return sorted(mine, key=lambda each: each["generation"])


def _flown_before(child: str, parent: Mapping[str, str], places: Mapping[str, Any]) -> str:
    """The nearest ancestor that is drawn; empty if none is."""
    ancestor = parent.get(child, "")
    while ancestor and ancestor not in places:
        ancestor = parent.get(ancestor, "")
    return ancestor


# -- drawing -----------------------------------------------------------------------------------


def _figure(columns: int) -> tuple[Any, Any]:
    figure: Any = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    return figure, figure.subplots(1, columns, squeeze=False)[0]


def _axes(axes: Any, x: str, y: str, title: str, top: float = 1.0) -> None:
    axes.set_xlabel(x, fontsize=FONT)
    axes.set_ylabel(y, fontsize=FONT)
    axes.set_title(title, fontsize=FONT)
    axes.set_ylim(-0.02 * top, 1.02 * top)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=FONT)


def _whole_numbers(axes: Any) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _written(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})
    return path


def main() -> None:
    """Draw what was asked for, and print where it is."""
    parser = argparse.ArgumentParser(
        prog="plots", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("snapshot", type=_run, nargs="?", help="of a run; default: the benches' figures")
    chosen = parser.parse_args()
    if chosen.snapshot:
        into, run = chosen.snapshot
    else:
        into, real = PICTURES, figures.read("curriculum_real.json")
        print(compared(figures.read("curriculum_synthetic.json"), real, into / "curriculum.png"))
        run = real["run"]
    print(run_picture(run, into / "curriculum_run.png"))
    if run["lineage"]:
        print(lineage_picture(run, into / "curriculum_lineage.png"))
    else:
        print("no mission was evolved yet, so there is no lineage to draw")


def _run(path: str) -> tuple[Path, dict[str, Any]]:
    """The folder of a snapshot, and what is drawn of its run."""
    try:
        content = Path(path).read_bytes()
        name = str(json.loads(content)["run"])
        with closing(Database(IN_MEMORY)) as database:
            snapshot.restore(archive := Archive(database), name, content)
            drawn = of_archive(archive, name)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"{path} is no snapshot of a run: {error}") from error
    if not drawn["windows"]:
        raise argparse.ArgumentTypeError(f"{path}: of no group of run {name!r} have all members flown yet")
    return Path(path).parent, drawn


if __name__ == "__main__":
    main()
