"""Tables of the curricula, from `curriculum_synthetic.json` and `curriculum_real.json`."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

HEAD: Final = (
    "| curriculum | synthetic, at the end | area under the curve | noisy rewards, at the end "
    "| imperfect certificate, at the end | real simulator, at the end |",
    "|---|---|---|---|---|---|",
)
ORDER: Final = ("eva", "ladder070", "ladder030", "uniform", "eva_literal")
WORDS: Final = {
    "clean": "clean",
    "noise": "noisy rewards",
    "bad_certificate": "imperfect certificate",
    "late": "each generation 8 steps late",
    "less_skew": "less mis-calibrated, slopes 1.2 to 2.6",
    "no_skew": "calibrated, every slope 2",
}
"""Conditions of the synthetic bench."""
RIVALS: Final = ("uniform", "ladder030")
"""Whose areas under the curve `eva`'s is compared with."""


def summary(synthetic: Mapping[str, Any], real: Mapping[str, Any]) -> str:
    """Success on held-out missions at the end, with 95 % intervals over seeds, by curriculum."""
    rows: list[str] = []
    for name in ORDER:
        clean, noise, bad = (
            synthetic[condition][name] for condition in ("clean", "noise", "bad_certificate")
        )
        cells = (_told(clean, "final"), _told(clean, "auc"), _told(noise, "final"), _told(bad, "final"))
        flown = real["clean"].get(name)
        rows.append(f"| `{name}` | {' | '.join(cells)} | {_told(flown, 'final') if flown else '–'} |")
    return "\n".join((*HEAD, *rows))


def synthetic_page(synthetic: Mapping[str, Any]) -> str:
    """Final success and area under the curve of every curriculum in every condition, and `eva`'s lead."""
    names = [name for condition in WORDS for name in synthetic[condition]]
    names = [*ORDER, *(name for name in dict.fromkeys(names) if name not in ORDER)]
    head = (
        f"| condition | {' | '.join(f'`{name}`' for name in names)} | lead |",
        "|---" * (len(names) + 2) + "|",
    )
    rows: list[str] = []
    for condition, words in WORDS.items():
        told = synthetic[condition]
        cells = [f"{told[n]['final']:.2f} / {told[n]['auc']:.2f}" if n in told else "–" for n in names]
        lead = told["eva"]["auc"] / max(told[name]["auc"] for name in RIVALS)
        rows.append(f"| {words} | {' | '.join(cells)} | {lead:.1f} |")
    return "\n".join((*head, *rows))


def real_page(real: Mapping[str, Any]) -> str:
    """What the apprentices learnt, `eva`'s gain over each curriculum, and what explains it."""
    head = (
        "| curriculum | success on `val` | area | gain of `eva` | dead groups | level at the end "
        "| certificates, flights |",
        "|---|---|---|---|---|---|---|",
    )
    rows = (
        f"| `{name}` | {_told(cell, 'final')} | {cell['auc']:.2f} | {_told(cell, 'gain')} "
        f"| {cell['dead_groups']:.2f} | {cell['last_levels']:.1f} "
        f"| {cell['certificates']}, {cell['certificate_flights']} |"
        for name, cell in _ordered(real["clean"])
    )
    return "\n".join((*head, *rows))


def _ordered(cells: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return ((name, cells[name]) for name in ORDER if name in cells)


def _told(cell: Mapping[str, Any], key: str) -> str:
    low, high = cell[f"{key}_ci95"]
    return f"{cell[key]:.2f} [{low:.2f}, {high:.2f}]"
