"""Episodes of the reference policy over the wire, to warm a model up with.

    python -m orbital_ops_env.training.demonstrations --url http://localhost:8000 --episodes 500 \
        --output outputs/demonstrations.jsonl

Easy levels only: they teach the format and the procedure, the rest is for reinforcement learning. In a tenth
of the episodes some replies are random commands, misspelt or nothing readable, at times the same again and
again, and only what the reference does about them is taught: a model that has never seen a refusal repeats
what was refused. Lost missions are left out.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from orbital_ops_env.client import (
    SYSTEM_PROMPT,
    EpisodeLost,
    OrbitalOpsObservation,
    PolicyView,
    render,
    view,
)
from orbital_ops_env.commands import AnyCommand, encode, parse
from orbital_ops_env.policies.random import draw
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.training.config import TrainingConfig
from orbital_ops_env.training.pool import EnvPool
from orbital_ops_env.training.slots import slot

NOISY_EPISODES: Final = 0.18
"""[-] share of the episodes in which replies are disturbed; more of them are lost, a tenth of those kept."""
NOISY_REPLIES: Final = 0.4
"""[-] share of the replies of such an episode that are disturbed."""
REPEATED: Final = 0.5
"""[-] share of the disturbed replies that are the last disturbed one once more, if there was one."""
DISTURBANCES: Final = {"random": 0.3, "misspelt": 0.4, "garbled": 0.3}
"""[-] share of each kind among the others."""
LONGEST_NONSENSE: Final = 20
"""[-] words."""
FLOWN_AT_MOST: Final = 3
"""[-] episodes flown for one that is kept."""
SESSIONS: Final = 32
"""[-] episodes flown at once."""


@dataclass
class Demonstration:
    """One finished episode in words."""

    options: dict[str, Any]
    """Of `reset`."""
    texts: list[str] = field(default_factory=list[str])
    """What the environment said: the first text and one after each reply but the last."""
    replies: list[str] = field(default_factory=list[str])
    taught: list[bool] = field(default_factory=list[bool])
    """By reply; a disturbed one teaches nothing."""
    outcome: str = "ongoing"


class _Flight:
    """A demonstration while it is being flown."""

    def __init__(self, options: Mapping[str, Any], rng: np.random.Generator) -> None:
        self.demonstration = Demonstration(dict(options))
        self._rng, self._policy = rng, Reference()
        self._noisy = rng.random() < NOISY_EPISODES
        self._disturbed = ""
        self._policy.begin(int(options["seed"]))
        self._view: PolicyView

    def begin(self, observation: OrbitalOpsObservation) -> None:
        self._view = view(observation)
        self.demonstration.texts.append(render(observation))

    def command(self) -> AnyCommand:
        reply = encode(self._policy.act(self._view))
        disturbed = self._noisy and self._rng.random() < NOISY_REPLIES
        if disturbed:
            reply = self._disturb(reply)
        self.demonstration.replies.append(reply)
        self.demonstration.taught.append(not disturbed)
        return parse(reply)

    def _disturb(self, reply: str) -> str:
        if not self._disturbed or self._rng.random() >= REPEATED:
            kind = self._rng.choice(list(DISTURBANCES), p=list(DISTURBANCES.values()))
            if kind == "random":
                self._disturbed = encode(draw(self._rng, self._view.brief.targets))
            else:
                self._disturbed = (misspelt if kind == "misspelt" else garbled)(self._rng, reply)
        return self._disturbed

    def hear(self, observation: OrbitalOpsObservation) -> None:
        if observation.done:
            self.demonstration.outcome = observation.outcome
            return
        self.demonstration.texts.append(render(observation, self._view))
        self._view = view(observation, self._view)


def misspelt(rng: np.random.Generator, reply: str) -> str:
    """A reply with a letter of one of its words left out, doubled, or swapped with the next one."""
    words = list(re.finditer("[A-Za-z]{3,}", reply))
    word = words[int(rng.integers(len(words)))]
    at = int(rng.integers(word.start(), word.end() - 1))
    one, other = reply[at], reply[at + 1]
    edits = [other, one + one + other, other + one]
    edited = rng.choice([each for each in edits if each != one + other])
    return reply[:at] + str(edited) + reply[at + 2 :]


def garbled(rng: np.random.Generator, reply: str) -> str:
    """A reply that is no command: one cut short, one with words around it, or words alone."""
    words = [word for word in SYSTEM_PROMPT.split() if "{" not in word]  # an example is a command
    talk = " ".join(rng.choice(words, size=int(rng.integers(1, LONGEST_NONSENSE))))
    return str(rng.choice([reply[: int(rng.integers(1, len(reply)))], f"{talk} {reply}", talk]))


def fly(options: Sequence[Mapping[str, Any]], pool: EnvPool, rng: np.random.Generator) -> list[Demonstration]:
    """Fly the reference policy, all episodes at once.

    Args:
        options: Options of `reset`, one for each episode; no more than the pool has sessions.
        pool: Sessions.
        rng: Draws which commands are disturbed.

    Returns:
        The episodes in the order of their options, lost missions too.

    Raises:
        EpisodeLost: The server lost an episode.
    """
    flights = {n: _Flight(chosen, rng.spawn(1)[0]) for n, chosen in enumerate(options)}
    for n, answer in pool.reset(dict(enumerate(options))).items():
        flights[n].begin(_heard(answer))
    flying = dict(flights)
    while flying:
        for n, answer in pool.step({n: flight.command() for n, flight in flying.items()}).items():
            flights[n].hear(_heard(answer))
        flying = {n: f for n, f in flying.items() if f.demonstration.outcome == "ongoing"}
    return [flight.demonstration for flight in flights.values()]


def collect(
    pool: EnvPool,
    episodes: int,
    *,
    seed: int,
    families: Sequence[str] = TrainingConfig.families,
    rung: str = "easy",
) -> list[Demonstration]:
    """Fly until there are so many succeeded episodes; the missions are slots of the run of this seed.

    Raises:
        RuntimeError: The reference loses nearly everything.
    """
    rng = np.random.default_rng(seed)
    kept: list[Demonstration] = []
    number = 0
    while len(kept) < episodes:
        batch = range(number, number + pool.capacity)
        if number > FLOWN_AT_MOST * (episodes + pool.capacity):
            raise RuntimeError(f"the reference won {len(kept)} of {number} episodes, expected nearly all")
        flown = fly([slot(seed, rung, n, families) for n in batch], pool, rng)
        kept += [demonstration for demonstration in flown if demonstration.outcome == "succeeded"]
        number += pool.capacity
    return kept[:episodes]


def write(path: Path, demonstrations: Iterable[Demonstration]) -> None:
    """Write one JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(asdict(each)) + "\n" for each in demonstrations))


def read(path: Path) -> list[Demonstration]:
    """What `write` wrote."""
    return [Demonstration(**json.loads(line)) for line in path.read_text().splitlines()]


def _heard(answer: OrbitalOpsObservation | EpisodeLost) -> OrbitalOpsObservation:
    if isinstance(answer, EpisodeLost):
        raise answer
    return answer


def main() -> int:
    """Fly and write; the exit status."""
    parser = argparse.ArgumentParser(prog="demonstrations", description=__doc__)
    parser.add_argument("--url", required=True, help="address of the server or Space")
    parser.add_argument(
        "--episodes", type=int, default=TrainingConfig.demonstrations, help="succeeded; %(default)s"
    )
    parser.add_argument("--seed", type=int, default=0, help="not that of a run to come; %(default)s")
    parser.add_argument("--output", type=Path, default=Path("outputs/demonstrations.jsonl"))
    chosen = parser.parse_args()
    try:
        with EnvPool(chosen.url, SESSIONS) as pool:
            write(chosen.output, collect(pool, chosen.episodes, seed=chosen.seed))
    except (OSError, RuntimeError) as error:
        print(f"demonstrations: {error}", file=sys.stderr)  # noqa: T201
        return 1
    print(f"{chosen.episodes} episodes in {chosen.output}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
