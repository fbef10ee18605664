"""The best command script that a search finds: blind, but fitted to a family and level.

Cross-entropy method (Rubinstein and Kroese 2004) over the menus of every command: a script is drawn turn by
turn, first the command, then each argument; after each generation the distribution moves towards the best
scripts. Trained on the return of `TRAINING` missions, told on `FRESH` others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

import numpy as np
from numpy.typing import NDArray

from orbital_ops_env.commands import AnyCommand, EndMission, Telecommand
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.targets import CATALOGUE
from orbital_ops_env.policies.redteam.blind import CYCLES
from orbital_ops_env.server.flight import replay

TRAINING_SEED, TRAINING = 53_000, 32
"""First seed and number of the missions that a search sees,"""
FRESH_SEED, FRESH = 54_000, 64
"""and of those that its script is told on."""
POPULATION: Final = 24
"""Scripts of a generation, each flown on"""
LOOK: Final = 8
"""missions, the same for all; of"""
GENERATIONS: Final = 5
"""generations. The best"""
ELITE: Final = 6
"""of each are learned from and stay, and in the end the first"""
FINALISTS: Final = 3
"""fly all training missions."""
STEP: Final = 0.7
"""[-] how far the distribution moves towards the best."""
LEVELS: Final = (0, 2, 4)
"""The first; the first at which no blind policy may succeed; and a middle one."""
Menu = tuple[Any, ...]
Key = tuple[str, str]
"""A command and its argument; the argument of the choice between commands is empty."""
Sent = tuple[AnyCommand, ...]
_KINDS: Final = {kind.model_fields["command"].default: kind for kind in get_args(Telecommand)}


def menus() -> dict[str, dict[str, Menu]]:
    """Every value of every argument of every command; giving up is left out."""
    kinds = [kind for kind in get_args(Telecommand) if kind is not EndMission]
    return {
        kind.model_fields["command"].default: dict(_arguments(kind.model_json_schema())) for kind in kinds
    }


def _arguments(schema: Mapping[str, Any]) -> Iterator[tuple[str, Menu]]:
    for name, field in schema["properties"].items():
        if name == "command":
            continue
        options = field.get("anyOf", [field])
        yield name, tuple(value for option in options for value in _values(option))


def _values(option: Mapping[str, Any]) -> Menu:
    if "enum" in option:
        return tuple(option["enum"])
    if option["type"] == "integer":
        return tuple(range(option["minimum"], option["maximum"] + 1))
    return (None,) if option["type"] == "null" else (*CATALOGUE, "sun", "nadir")


class Scripts:
    """A distribution of scripts: every turn's command, and every argument, on its own.

    Args:
        turns: Length of a script.
    """

    def __init__(self, turns: int) -> None:
        self._menus = menus()
        sizes: dict[Key, int] = {("", ""): len(self._menus)}
        sizes |= {(c, a): len(menu) for c, taken in self._menus.items() for a, menu in taken.items()}
        self._shares = [{key: np.full(n, 1 / n) for key, n in sizes.items()} for _ in range(turns)]

    def draw(self, rng: np.random.Generator) -> Sent:
        """A script."""
        return tuple(self._command(shares, rng) for shares in self._shares)

    def _command(self, shares: Mapping[Key, NDArray[np.float64]], rng: np.random.Generator) -> AnyCommand:
        name = list(self._menus)[int(rng.choice(len(self._menus), p=shares["", ""]))]
        arguments = {
            argument: menu[int(rng.choice(len(menu), p=shares[name, argument]))]
            for argument, menu in self._menus[name].items()
        }
        return _KINDS[name].model_validate({"command": name, **arguments})

    def learn(self, best: Sequence[Sent]) -> None:
        """Move towards the best scripts."""
        for turn, shares in enumerate(self._shares):
            sent = [script[turn] for script in best if script[turn].command in self._menus]
            self._move(shares, ("", ""), [c.command for c in sent], tuple(self._menus))
            for name, taken in self._menus.items():
                for argument, menu in taken.items():
                    chosen = [getattr(c, argument) for c in sent if c.command == name]
                    self._move(shares, (name, argument), chosen, menu)

    def _move(
        self, shares: dict[Key, NDArray[np.float64]], key: Key, chosen: Sequence[Any], menu: Menu
    ) -> None:
        if chosen:
            seen = np.array([chosen.count(value) for value in menu]) / len(chosen)
            shares[key] = (1 - STEP) * shares[key] + STEP * seen


@dataclass(frozen=True)
class Search:
    """A family and level to search a script for."""

    family: str
    level: int


@dataclass(frozen=True)
class Found:
    """The best script and what became of it on fresh missions."""

    search: Search
    script: Sent
    trained: float
    """[-] mean return on the training missions."""
    results: tuple[tuple[bool, float], ...]
    """Success and return of each fresh mission."""


def found(search: Search) -> Found:
    """Search, then tell on fresh missions."""
    script, trained = best_script(search)
    fresh = _missions(search, FRESH_SEED, FRESH)
    flights = [replay(spec, script, spec.seed) for spec in fresh]
    return Found(search, script, trained, tuple((f.succeeded, f.return_) for f in flights))


def best_script(search: Search) -> tuple[Sent, float]:
    """The script with the best mean return on the training missions, and that."""
    rng = np.random.default_rng([TRAINING_SEED, list(FAMILIES).index(search.family), search.level])
    missions = _missions(search, TRAINING_SEED, TRAINING)
    turns = missions[0].turns
    scripts = Scripts(turns)
    kept = [tuple(commands[n % len(commands)] for n in range(turns)) for commands in CYCLES.values()]
    for _ in range(GENERATIONS):
        drawn = [scripts.draw(rng) for _ in range(max(POPULATION - len(kept), ELITE))]
        looked = [missions[int(n)] for n in rng.choice(TRAINING, LOOK, replace=False)]
        kept = sorted({*kept, *drawn}, key=lambda sent: -mean_return(sent, looked))[:ELITE]
        scripts.learn(kept)
    scores = {sent: mean_return(sent, missions) for sent in kept[:FINALISTS]}
    best = max(scores, key=lambda sent: scores[sent])
    return best, scores[best]


def mean_return(sent: Sent, missions: Sequence[MissionSpec]) -> float:
    """[-] of a script over missions."""
    return float(np.mean([replay(spec, sent, spec.seed).return_ for spec in missions]))


def _missions(search: Search, first: int, number: int) -> list[MissionSpec]:
    return [generate(search.family, search.level, seed) for seed in range(first, first + number)]
