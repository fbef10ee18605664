"""What `make docs` writes about the reward: its table, `docs/reward_card.md` and `docs/reward_audit.md`."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orbital_ops_env.rewards import terms
from orbital_ops_env.rewards.rubric import Weights
from orbital_ops_env.rewards.terms import Standing
from orbital_ops_env.studies import figures
from orbital_ops_env.studies.audit_figure import SCRIPTS
from orbital_ops_env.studies.zoo import BLIND, GRADED, REFERENCE

CARD: Final = figures.ROOT / "docs" / "reward_card.md"
AUDIT: Final = figures.ROOT / "docs" / "reward_audit.md"
TERMS: Final[Mapping[str, tuple[str, Callable[[Standing], float]]]] = {
    "objective": ("s", terms.objective),
    "process": ("P", terms.process),
    "efficiency": ("E", terms.efficiency),
    "safety": ("S", terms.safety),
    "format": ("F", terms.format_),
}
"""Name of each weight: its letter in the formula, and the function that measures it."""
LEAST_EXPLOITS: Final = 3
WIDTH: Final = 120
"""[-] longest line of a page, characters."""
CARD_HEAD: Final = """\
# Reward card

Made by `make docs` from the docstrings of `rewards/terms.py`.
`tests/redteam/test_guards.py` removes the guards that its table lists, one after another; each time the test
beside it fails. What policies really earn that try all this is in [reward_audit.md](reward_audit.md).

    return = .40 s + .25 P + s (.15 E + .10 S + .10 F)        all terms in [0, 1]
"""
AUDIT_HEAD: Final = """\
# Reward audit

Made by `make docs` from `plots/data/reward_audit.json`, which `make reward-audit` writes.
"""
RED_TEAM_TEXT: Final = """\
An exploit is return without success. The red team (`policies/redteam/`) is after it: each command for
ever, dither, spam, parrots, injection, waste, probing of names, the script of another mission, scripts
that a search finds, and dodgers that fly to the last target and give up there, at once or when the dwell is
nearly served; now and then they succeed before they can. They are told by their mean return over failed
episodes, over all levels of a family. All but the dodgers are blind: they see neither brief nor telemetry.
Spoilers fly as `reference` does, after a wrong fault report (`reporter`) or prose for a sixth of the
turns, two at least (`mumbler`). The worst is that of all families; the rank correlation is over all
families together."""
POLICIES_TEXT: Final = """\
Success at levels 0 and 1, success at 2 to 9, mean return, and mean return over failed episodes: over all,
at levels 0 and 1, and in the family that pays most; else each the mean of the families. `noise_30` is
`reference` with 30 % random commands, `noise_0` is `reference` itself; `reader` is a script written from the
brief, which reads no telemetry and has no bar."""
SCRIPTS_TEXT: Final = """\
The best script of a cross-entropy search on 32 missions of a family and level, flown on 64 others:
5 generations of 24 scripts, each flown on 8 of the missions, and 3 finalists on all of them."""
GROUPS_TEXT: Final = """\
Eight flights of one episode that differ in noise only, at levels 1, 4 and 7: share of groups with a
success and a failure, and standard deviation of the return within a group."""
ATTRIBUTION_TEXT: Final = """\
Mean reward of an episode of `reference` by command, and the share of the return that came with the last
step. No command is paid for itself: a check or a report of a few seconds on target serves its dwell."""
AUDIT_ROWS: Final = (
    ("`reference`: mean return", "reference_return", "at least 0.75"),
    ("blind policies: most paid for failure, all levels", "max_redteam_failed_return", "at most 0.15"),
    ("the same at levels 0 and 1 alone", "max_blind_failed_return_below_2", ""),
    ("dodgers: most paid for failure", "dodger_failed_return", "below 0.25, by the formula"),
    ("exploit gap: `reference` less the most paid of both", "exploit_gap", ""),
    ("blind policies: most success at levels 2 to 9", "max_blind_success", "at most 0.05"),
    ("the same at levels 0 and 1", "max_blind_success_below_2", ""),
    ("a wrong report: return over `reference` where both succeed", "reporter_gain", "at most -0.03"),
    ("a sixth of the turns in prose, two at least: the same", "mumbler_gain", "at most -0.01"),
    ("P(return of a success > return of a failure)", "success_outranks_failure", "1, by the formula"),
    ("pairs of policies that return ranks as success does", "concordance_zoo", ""),
    ("groups of eight with mixed success, at the best of three noises", "live_groups", ""),
)
"""Title, key and bar of each row, told of the worst family and of each."""
ABILITY: Final = "Spearman of return and success, by degrees of ability"


# -- the card ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exploit:
    """A cheap way to raise a term, and why it does not pay."""

    way: str
    defence: str
    test: str
    """Name of the test that proves it."""


@dataclass(frozen=True)
class Card:
    """What a term's docstring says."""

    measures: str
    guard: str
    exploits: tuple[Exploit, ...]


def card(score: Callable[[Standing], float]) -> Card:
    """The card of a term.

    Raises:
        ValueError: The docstring has not the form that `rewards/terms.py` begins with.
    """
    text = inspect.getdoc(score) or ""
    form = re.fullmatch(
        r"(?P<measures>.+?)\n\nGuard: (?P<guard>.+?)\nExploits:\n(?P<exploits>.+)", text, re.S
    )
    if not form:
        raise ValueError(f"{score.__name__}: expected what it measures, 'Guard: ...' and 'Exploits:'")
    exploits = tuple(_exploit(score.__name__, " ".join(item.split())) for item in _items(form["exploits"]))
    if len(exploits) < LEAST_EXPLOITS:
        raise ValueError(f"{score.__name__}: {len(exploits)} exploits, expected at least {LEAST_EXPLOITS}")
    return Card(_line(form["measures"]), _line(form["guard"]), exploits)


def _items(block: str) -> list[str]:
    """Paragraphs of a block whose further lines are indented deeper."""
    return re.split(r"\n(?=\S)", textwrap.dedent(block))


def _exploit(name: str, text: str) -> Exploit:
    form = re.fullmatch(r"(?P<way>[^:]+): (?P<defence>.+)\. Test: `(?P<test>\w+)`\.", text)
    if not form:
        raise ValueError(f"{name}: {text!r}, expected 'What one would try: why not. Test: `name`.'")
    return Exploit(form["way"], form["defence"], form["test"])


def _line(text: str) -> str:
    return " ".join(text.split()).rstrip(".")


def reward_table() -> str:
    """The README's table: weight, measure and guard of each term."""
    lines = ["| term | weight | what it measures | guard against gaming |", "|---|---|---|---|"]
    for name, (letter, score) in TERMS.items():
        told = card(score)
        weight = f"{getattr(Weights(), name):.2f}".lstrip("0")
        lines.append(f"| `{name}` {letter} | {weight} | {told.measures} | {told.guard} |")
    return "\n".join(lines)


def card_page() -> str:
    """`docs/reward_card.md`."""
    parts = [CARD_HEAD, reward_table()]
    for name, (letter, score) in TERMS.items():
        told = card(score)
        parts += [f"## `{name}` {letter}", wrapped(f"{told.measures}. {told.guard}.")]
        parts.append("\n".join(wrapped(_told(exploit), "  ") for exploit in told.exploits))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _told(exploit: Exploit) -> str:
    return f"- **{exploit.way}**: {exploit.defence} (`{exploit.test}`)."


def wrapped(text: str, indent: str = "") -> str:
    """A paragraph of a page."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


# -- the audit ---------------------------------------------------------------------------------


def audit_table(data: Mapping[str, Any]) -> str:
    """The head of `reward_audit.json`: the worst family, every family, and the bar."""
    families = data["families"].values()
    lines = _head("", "worst", *(f"`{family}`" for family in data["families"]), "bar")
    for title, key, bar in AUDIT_ROWS:
        lines.append(_row(title, *(f"{cell[key]:.3f}" for cell in (data, *families)), bar))
    key = "spearman_graded"
    ranked = (f"{cell[key]:.3f}" for cell in families)
    lines.append(_row(ABILITY, f"all: {data[key]:.3f}", *ranked, "at least 0.95 over all"))
    paid = (f"`{cell['best_paid']}`" for cell in families)
    lines.append(_row("who of the blind is paid most", "", *paid, ""))
    return "\n".join(lines)


def audit_summary(data: Mapping[str, Any]) -> str:
    """The README's part: the table, and how much stands behind it."""
    return f"{audit_table(data)}\n\n{wrapped(_counts(data))}"


def _counts(data: Mapping[str, Any]) -> str:
    """How many flights stand behind the numbers."""
    cell = next(iter(data["families"].values()))
    blind, others = (cell["policies"][name]["episodes"] for name in ("idle", REFERENCE))
    scripts = {told["episodes"] for told in cell["scripts"].values()}
    told = (
        f"A blind policy flies {blind} missions of every family, as many of each level, the others {others}. "
        "No success in n missions leaves a rate of up to 3/n at 95 % confidence."
    )
    if scripts:
        levels = ", ".join(cell["scripts"])
        told += (
            f" A script that was searched for flies {max(scripts)} other missions at each of levels {levels}."
        )
    return told


def audit_page(data: Mapping[str, Any]) -> str:
    """`docs/reward_audit.md`."""
    picture = "![Mean return by share of successes, by policy and family](../plots/reward_audit.png)"
    parts = (
        AUDIT_HEAD.rstrip(),
        wrapped(f"{RED_TEAM_TEXT} {_counts(data)}"),
        audit_table(data),
        picture,
        _section("Every policy", POLICIES_TEXT, _policies(data)),
        _section("Scripts that a search finds", SCRIPTS_TEXT, _scripts(data)),
        _section("Groups of eight", GROUPS_TEXT, _groups(data)),
        _section("Which step earned what", ATTRIBUTION_TEXT, _attribution(data)),
    )
    return "\n\n".join(parts) + "\n"


def _section(title: str, text: str, table: str) -> str:
    return "\n\n".join((f"## {title}", wrapped(text), table))


def _policies(data: Mapping[str, Any]) -> str:
    lines = _head("policy", "success 0–1", "2–9", "return", "failures", "return of failures", "0–1", "most")
    families = data["families"].values()
    names = {name: None for cell in families for name in cell["policies"]}
    for name in names:
        cells = [cell["policies"][name] for cell in families if name in cell["policies"]]
        numbers = [_mean(cells, key) for key in ("success_below_2", "success_from_2", "return")]
        failures = str(sum(cell["failures"] for cell in cells))
        failed = [_mean(cells, key) for key in ("failed_return", "failed_return_below_2")]
        most = max((cell["failed_return"] for cell in cells if "failed_return" in cell), default=None)
        failed.append("–" if most is None else f"{most:.3f}")
        lines.append(_row(f"`{name}`{_kind(name)}", *numbers, failures, *failed))
    return "\n".join(lines)


def _kind(name: str) -> str:
    if name in GRADED:
        return " (by degrees)"
    return " (blind)" if name in BLIND or name == SCRIPTS else ""


def _scripts(data: Mapping[str, Any]) -> str:
    lines = _head("family", "level", "return in training", "success", "return", "return of failures")
    for family, cell in data["families"].items():
        for level, told in cell["scripts"].items():
            keys = ("trained_return", "success", "return", "failed_return")
            lines.append(_row(f"`{family}`", level, *(_mean([told], key) for key in keys)))
    return "\n".join(lines)


def _groups(data: Mapping[str, Any]) -> str:
    noises = list(next(iter(data["families"].values()))["groups"])
    titles = (f"{what}, noise {noise}" for noise in noises for what in ("live", "sd"))
    lines = _head("family", *titles)
    for family, cell in data["families"].items():
        told = (cell["groups"][noise] for noise in noises)
        numbers = (n for group in told for n in (group["live_groups"], group["within_group_sd"]))
        lines.append(_row(f"`{family}`", *(f"{number:.2f}" for number in numbers)))
    return "\n".join(lines)


def _attribution(data: Mapping[str, Any]) -> str:
    families = data["families"]
    commands = {name: None for cell in families.values() for name in cell["attribution"]["by_command"]}
    lines = _head("command", *(f"`{family}`" for family in families))
    for command in commands:
        earned = (cell["attribution"]["by_command"].get(command, 0.0) for cell in families.values())
        lines.append(_row(f"`{command}`", *(f"{reward:.3f}" for reward in earned)))
    shares = (cell["attribution"]["last_step"] for cell in families.values())
    lines.append(_row("share of the last step", *(f"{share:.2f}" for share in shares)))
    return "\n".join(lines)


def _mean(cells: Iterable[Mapping[str, Any]], key: str) -> str:
    told = [cell[key] for cell in cells if key in cell]
    return f"{sum(told) / len(told):.3f}" if told else "–"


def _head(*titles: str) -> list[str]:
    return [_row(*titles), "|---" * len(titles) + "|"]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
