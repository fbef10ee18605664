"""What `make docs` writes: tables from committed figures, pages of the mission families, the example."""

import ast
import dataclasses
import functools
import inspect
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any, Final, cast

from orbital_ops_env.client.render import render, view
from orbital_ops_env.commands import encode
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.studies import baselines_figure, baselines_page, curriculum_page, figures, reward_page
from orbital_ops_env.studies.certificate import BARS
from orbital_ops_env.studies.reward_page import wrapped
from orbital_ops_env.training import config
from orbital_ops_env.training.slots import RUNGS

README: Final = figures.ROOT / "README.md"
TRAINING: Final = figures.ROOT / "docs" / "training.md"
EVA: Final = figures.ROOT / "docs" / "eva.md"
MISSIONS: Final = figures.ROOT / "docs" / "missions.md"
EXAMPLE: Final = ("retarget-v0", 3, 168)
"""Family, level and seed of the README's example, which tells of thruster 1, stuck closed."""
SECTIONS: Final = (
    "Description",
    "Teaches",
    "Commands",
    "Telemetry",
    "Directives",
    "Flight rules",
    "Faults",
    "Start",
    "End",
    "Version history",
)
"""What a family's page says, in this order."""
UNITS: Final = {"_deg_s": "deg/s", "_deg": "deg", "_s": "s", "_g": "g"}
"""Unit by suffix of a field's name, a longer suffix before the one that it ends in."""
FAMILIES_HEAD: Final = (
    "| family | the agent must | faults | what it teaches |",
    "|---|---|---|---|",
)
MISSIONS_HEAD: Final = """\
# Mission families

Made by `make docs` from `missions/*.py`: the docstring of each module and its table of levels.
`generate(family, level, seed)` always gives the same mission.
"""
GATE_HEAD: Final = (
    "| family | levels | live groups | success | readable replies | gate |",
    "|---|---|---|---|---|---|",
)
LEVELS_HEAD: Final = (
    "| family | level | idle | best of 64 scripts | rules | reference |",
    "|---|---|---|---|---|---|",
)
INSTRUMENTS_HEAD: Final = (
    "| family | faults told apart | named | false alarms | `reference` 0–4 | 5–9 | `rules` | `random` 2–9 "
    "| live groups | oracle | its gas / `reference`'s |",
    "|---|---|---|---|---|---|---|---|---|---|---|",
)
INSTRUMENTS_KEYS: Final = (
    "min_auroc",
    "fault_named",
    "false_alarm",
    "reference_low",
    "reference_high",
    "policies.rules.success",
    "random_from_2",
    "live_groups",
)
CERTIFICATE_HEAD: Final = (
    "| missions | how many | judged rightly | 95 % | target |",
    "|---|---|---|---|---|",
)
CERTIFICATE_ROWS: Final = (
    ("reject_unsolvable", "unsolvable: gas below what their momentum takes"),
    ("reject_coin_flip", "coin flips: a hidden seed decides"),
    ("reject_trivial", "trivial: they succeed without any command"),
    ("accept_good", "good: `reference` solves 63 of 64 other seeds"),
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


def certificate(data: dict[str, Any]) -> str:
    """How often certificates are right about missions whose worth is known, from `certificate.json`."""
    rows = (
        f"| {what} | {data[key + '_counts']['missions']} | {data[key]:.2f} "
        f"| {' to '.join(f'{end:.2f}' for end in data[key + '_ci95'])} | {BARS[key]:.2f} |"
        for key, what in CERTIFICATE_ROWS
    )
    return _joined((*CERTIFICATE_HEAD, *rows))


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


def instruments(data: dict[str, Any]) -> str:
    """What faults, missions and policies measure, by family, from `instruments.json`."""
    rows: list[str] = []
    for family, cell in data["families"].items():
        rates = " | ".join(f"{_at(cell, key):.2f}" for key in INSTRUMENTS_KEYS)
        bound = f"{_at(cell, 'oracle.success'):.2f} ({_at(cell, 'oracle.reference_success'):.2f})"
        gas = _at(cell, "oracle.gas_g") / _at(cell, "oracle.reference_gas_g")
        rows.append(f"| `{family}` | {rates} | {bound} | {gas:.2f} |")
    return "\n".join((*INSTRUMENTS_HEAD, *rows))


def _at(cell: dict[str, Any], path: str) -> float:
    return functools.reduce(lambda found, key: found[key], path.split("."), cell)  # type: ignore[return-value]


@dataclass(frozen=True)
class Page:
    """The page of a family: the docstring of its module."""

    task: str
    """What the agent must do, in one sentence."""
    sections: dict[str, str]


def page(module: ModuleType) -> Page:
    """The page that a family's module begins with.

    Raises:
        ValueError: The docstring is not a line `Name: task.`, a blank line and the `SECTIONS`, each
            `Section: text` with further lines indented.
    """
    head, _, body = (inspect.getdoc(module) or "").partition("\n\n")
    task = re.fullmatch(r"[A-Z][\w -]*: (.+)\.", head)
    if not task:
        raise ValueError(f"{module.__name__}: the docstring begins with {head!r}, expected 'Name: task.'")
    found: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if section := re.fullmatch(r"([A-Z][a-z ]*): (.+)", line):
            found.append((section[1], [section[2]]))
        elif found and line.startswith("    "):
            found[-1][1].append(line.strip())
        else:
            raise ValueError(f"{module.__name__}: {line!r} is neither 'Section: text' nor an indented line")
    names = [name for name, _ in found]
    if names != list(SECTIONS):
        raise ValueError(f"{module.__name__}: sections {names}, expected {list(SECTIONS)} in this order")
    return Page(task[1], {name: " ".join(lines) for name, lines in found})


def modules() -> dict[str, ModuleType]:
    """The module of every family."""
    return {name: cast(ModuleType, family) for name, family in FAMILIES.items()}


def families() -> str:
    """What each family asks for, breaks and teaches, from the modules."""
    rows: list[str] = []
    for family, module in modules().items():
        told = page(module)
        faults = told.sections["Faults"].split(";")[0].rstrip(".")
        rows.append(f"| `{family}` | {told.task} | {faults} | {told.sections['Teaches'].rstrip('.')} |")
    return _joined((*FAMILIES_HEAD, *rows))


def missions() -> str:
    """`docs/missions.md`: the page and the levels of each family."""
    pages: list[str] = []
    for family, module in modules().items():
        told = page(module)
        lines = [wrapped(f"- **{name}**: {text}", "  ") for name, text in told.sections.items()]
        rows, meanings = list(module.LEVELS), _meanings(module.Level)
        explained = [wrapped(f"- {_heading(name)}: {text}", "  ") for name, text in meanings.items()]
        parts = (f"## `{family}`", wrapped(f"The agent must {told.task}."), _joined(lines), _levels(rows))
        pages.append("\n\n".join((*parts, _joined(explained))))
    return _joined((MISSIONS_HEAD, "\n\n".join(pages), ""))


def _levels(rows: list[Any]) -> str:
    """A table of levels, a column for each field of its dataclass."""
    names = [field.name for field in dataclasses.fields(rows[0])]
    head = ["level", *(_heading(name) for name in names)]
    cells = ([str(level), *(_cell(getattr(row, n)) for n in names)] for level, row in enumerate(rows))
    lines = [f"| {' | '.join(line)} |" for line in (head, *cells)]
    return _joined([lines[0], "|---" * len(head) + "|", *lines[1:]])


def _meanings(row: type) -> dict[str, str]:
    """What is written beneath the fields of a dataclass, by field."""
    body = ast.parse(textwrap.dedent(inspect.getsource(row))).body[0]
    assert isinstance(body, ast.ClassDef)
    meanings: dict[str, str] = {}
    for field, below in pairwise(body.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                words = re.sub(r"^\[.*?\] ", "", " ".join(text.split()))
                meanings[name] = words[0].upper() + words[1:]
            case _:
                pass
    return meanings


def _heading(name: str) -> str:
    """A field's name in words, with its unit."""
    suffix = next((suffix for suffix in UNITS if name.endswith(suffix)), "")
    words = name.removesuffix(suffix).replace("_", " ")
    return f"{words} [{UNITS[suffix]}]" if suffix else words


def _cell(value: bool | float | tuple[float, ...] | tuple[str, ...]) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple) and isinstance(value[0], str):
        return ", ".join(map(str, value))
    return " to ".join(f"{number:g}" for number in (value if isinstance(value, tuple) else (value,)))


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def example() -> str:
    """The first two turns of `EXAMPLE` as a policy reads and writes them, flown with the reference.

    Raises:
        ValueError: The mission is not the one that the README tells of.
    """
    spec = generate(*EXAMPLE)
    if ("stuck_closed", 1) not in spec.acting(spec.clock_s):
        raise ValueError(f"{spec} has faults {spec.faults}, expected thruster 1 stuck closed: change EXAMPLE")
    episode, policy = Episode(spec, spec.seed), Reference()
    policy.begin(spec.seed)
    seen, lines = view(episode.observation), [render(episode.observation)]
    for _ in range(2):
        command = policy.act(seen)
        observation = episode.step(command)
        lines += [f"> {encode(command)}", render(observation, seen)]
        seen = view(observation, seen)
    return _joined(("```", *lines, "```"))


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
    """The README with its tables made anew, and its example as it stands."""
    text = README.read_text()
    text = embed(text, "families", families())
    text = embed(text, "reward", reward_page.reward_table())
    text = embed(text, "audit", reward_page.audit_summary(figures.read("reward_audit.json")))
    text = embed(text, "levels", levels(figures.read("levels.json")))
    text = embed(text, "certificate", certificate(figures.read("certificate.json")))
    text = embed(text, "baselines", baselines_page.summary(figures.read(baselines_figure.NAME)))
    told = (figures.read(f"curriculum_{bench}.json") for bench in ("synthetic", "real"))
    text = embed(text, "curriculum", curriculum_page.summary(*told))
    text = embed(text, "instruments", instruments(figures.read("instruments.json")))
    text = embed(text, "gate", gate(figures.read("gate.json")))
    return embed(text, "bench", bench(figures.read("bench.json")))


def training() -> str:
    """`docs/training.md` with its table made anew."""
    return embed(TRAINING.read_text(), "config", config.table())


def eva() -> str:
    """`docs/eva.md` with its tables made anew."""
    synthetic, real = (figures.read(f"curriculum_{bench}.json") for bench in ("synthetic", "real"))
    text = embed(EVA.read_text(), "synthetic", curriculum_page.synthetic_page(synthetic))
    return embed(text, "real", curriculum_page.real_page(real))


def main() -> None:
    """Rewrite the tables, the pages and the example."""
    README.write_text(embed(readme(), "example", example()))
    TRAINING.write_text(training())
    EVA.write_text(eva())
    MISSIONS.write_text(missions())
    reward_page.CARD.write_text(reward_page.card_page())
    reward_page.AUDIT.write_text(reward_page.audit_page(figures.read("reward_audit.json")))
    baselines_page.PAGE.write_text(baselines_page.page(figures.read(baselines_figure.NAME)))


if __name__ == "__main__":
    main()
