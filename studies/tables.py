"""Tables of the README and of `docs/`, made from committed figure files and nothing else."""

from typing import Any, Final

from orbital_ops_env.studies import figures
from orbital_ops_env.training import config
from orbital_ops_env.training.slots import RUNGS

README: Final = figures.ROOT / "README.md"
TRAINING: Final = figures.ROOT / "docs" / "training.md"
GATE_HEAD: Final = (
    "| family | levels | live groups | success | readable replies | gate |",
    "|---|---|---|---|---|---|",
)
LEVELS_HEAD: Final = (
    "| family | level | idle | best of 64 scripts | rules | reference |",
    "|---|---|---|---|---|---|",
)
BENCH_HEAD: Final = ("| measure | value | target |", "|---|---|---|")
BENCH_ROWS: Final = (
    ("reset over the wire / raw Basilisk build", "reset_ratio", "at most 2"),
    ("30 s command over the wire / raw Basilisk flight", "step_ratio", "at most 1.5"),
    ("throughput of two sessions / one", "two_core_scaling", "at least 1.6"),
    ("p99 step at 64 sessions / fair share", "p99_over_fair_64", ""),
    ("memory of the server at 256 sessions [MB]", "rss_mb_256", ""),
)


def levels(data: dict[str, Any]) -> str:
    """Success by family, level and policy, from `levels.json`."""
    rows: list[str] = []
    for family in sorted(key for key in data if key.endswith("-v0")):
        for level, cell in data[family].items():
            names = ("idle", "best_script", "rules", "reference")
            rates = (f"{cell[n]['success']:.2f}" if n in cell else "–" for n in names)
            rows.append(f"| `{family}` | {level} | {' | '.join(rates)} |")
    return "\n".join((*LEVELS_HEAD, *rows))


def bench(data: dict[str, Any]) -> str:
    """Speed and memory, from `bench.json`."""
    rows = [f"| {label} | {data[key]:.3g} | {target} |" for label, key, target in BENCH_ROWS]
    return "\n".join((*BENCH_HEAD, *rows))


def gate(data: dict[str, Any]) -> str:
    """The gate by family and rung, from `gate.json`."""
    rows: list[str] = []
    for family, rungs in data["rungs"].items():
        for rung, cell in rungs.items():
            rates = " | ".join(f"{cell[key]:.2f}" for key in ("live_groups", "success", "valid_turns"))
            levels = f"{RUNGS[rung][0]} to {RUNGS[rung][-1]}"
            verdict = "passed" if cell["passed"] else "not passed"
            rows.append(f"| `{family}` | {levels} | {rates} | {verdict} |")
    return "\n".join((*GATE_HEAD, *rows))


def embed(text: str, name: str, table: str) -> str:
    """A text with a table between its markers `<!-- name -->` and `<!-- /name -->`.

    Raises:
        ValueError: The text lacks the markers.
    """
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if start not in text or end not in text:
        raise ValueError(f"expected the markers {start} and {end}")
    head, rest = text.split(start, 1)
    return f"{head}{start}\n{table}\n{end}{rest.split(end, 1)[1]}"


def readme() -> str:
    """The README with its tables made anew."""
    text = README.read_text()
    text = embed(text, "levels", levels(figures.read("levels.json")))
    text = embed(text, "gate", gate(figures.read("gate.json")))
    return embed(text, "bench", bench(figures.read("bench.json")))


def training() -> str:
    """`docs/training.md` with its table made anew."""
    return embed(TRAINING.read_text(), "config", config.table())


def main() -> None:
    """Rewrite the tables."""
    README.write_text(readme())
    TRAINING.write_text(training())


if __name__ == "__main__":
    main()
