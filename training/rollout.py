"""`multi_turn`: whole episodes of a language model over the wire, token by token.

The same function serves zero-shot checks, baselines, evaluation and training. A reply goes on as the ids that
were sampled; the environment's text is put between replies and marked, so that no loss touches it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from orbital_ops_env.client import EpisodeLost, OrbitalOpsObservation, PolicyView, render, view
from orbital_ops_env.commands import AnyCommand, Unreadable, parse
from orbital_ops_env.training.chat import Chat, Conversation
from orbital_ops_env.training.pool import Answer, EnvPool

Generate = Callable[[list[list[int]]], list[list[int]]]
"""From the ids of each conversation to the ids of the next reply, its end of turn included if it came."""
ATTEMPTS: Final = 3
"""Times that an episode is begun before a server that loses it again and again is an error."""


@dataclass
class Rollout:
    """One finished episode, as the trainer needs it and as a person reads it."""

    options: Mapping[str, Any]
    """Of `reset`."""
    conversation: Conversation
    commands: list[AnyCommand] = field(default_factory=list[AnyCommand])
    transcript: list[str] = field(default_factory=list[str])
    """Texts and replies in turn."""
    rewards: list[float] = field(default_factory=list[float])
    components: dict[str, float] = field(default_factory=dict[str, float])
    outcome: str = "ongoing"

    @property
    def return_(self) -> float:
        """[-] sum of the step rewards."""
        return sum(self.rewards)

    @property
    def succeeded(self) -> bool:
        """Whether the mission succeeded."""
        return self.outcome == "succeeded"

    @property
    def timed_out(self) -> bool:
        """Whether clock or turns ran out."""
        return self.outcome in ("timed_out", "out_of_turns")

    @property
    def valid_turns(self) -> float:
        """[-] share of replies that were exactly one telecommand."""
        readable = sum(not isinstance(command, Unreadable) for command in self.commands)
        return readable / len(self.commands) if self.commands else 0.0

    def __str__(self) -> str:
        """The episode as the model saw and wrote it."""
        marks = ["", "> "]
        said = (marks[turn % 2] + text for turn, text in enumerate(self.transcript))
        return "\n".join([*said, f"== {self.outcome}, return {self.return_:.3f}"])


class _Episode:
    """One member of a batch while it is being flown."""

    def __init__(self, chat: Chat, options: Mapping[str, Any]) -> None:
        self._chat, self.options = chat, options
        self.begun = 0
        self.rollout: Rollout
        self._view: PolicyView | None = None

    def begin(self, observation: OrbitalOpsObservation) -> None:
        text, self._view = render(observation), view(observation)
        self.rollout = Rollout(self.options, Conversation(self._chat, text), transcript=[text])

    def reply(self, ids: Sequence[int]) -> AnyCommand:
        words = self._chat.text(ids)
        self.rollout.conversation.reply(ids)
        self.rollout.transcript.append(words)
        self.rollout.commands.append(parse(words))
        return self.rollout.commands[-1]

    def hear(self, observation: OrbitalOpsObservation) -> None:
        rollout = self.rollout
        rollout.rewards.append(float(observation.reward or 0.0))
        text = render(observation, self._view)
        self._view = view(observation, self._view)
        rollout.transcript.append(text)
        if observation.done:
            rollout.outcome, rollout.components = observation.outcome, dict(observation.components)
            rollout.conversation.close()
        else:
            rollout.conversation.hear(text)


def multi_turn(
    options: Sequence[Mapping[str, Any]], pool: EnvPool, generate: Generate, chat: Chat
) -> list[Rollout]:
    """Fly one episode for each set of reset options, all at once.

    Every finished episode ends with an end-of-turn token, sampled or not, so that a trainer never takes one
    that ran out of turns for a truncated completion. An episode that the server loses is begun again; nothing
    of the lost one is kept.

    Args:
        options: Options of `reset`, one for each episode.
        pool: Sessions, at least as many.
        generate: The model.
        chat: Its chat template.

    Returns:
        The episodes in the order of their options.

    Raises:
        EpisodeLost: The server lost the same episode `ATTEMPTS` times.
        ValueError: There are more episodes than sessions.
    """
    if len(options) > pool.capacity:
        raise ValueError(
            f"{len(options)} episodes at once need as many sessions, the pool has {pool.capacity}"
        )
    episodes = {n: _Episode(chat, chosen) for n, chosen in enumerate(options)}
    _begin(episodes, pool)
    flying = dict(episodes)
    while flying:
        replies = generate([episode.rollout.conversation.ids for episode in flying.values()])
        commands = {n: e.reply(ids) for (n, e), ids in zip(flying.items(), replies, strict=True)}
        answers = pool.step(commands)
        _begin({n: episodes[n] for n, answer in answers.items() if isinstance(answer, EpisodeLost)}, pool)
        for n, answer in answers.items():
            if not isinstance(answer, EpisodeLost):
                episodes[n].hear(answer)
        flying = {n: episode for n, episode in flying.items() if episode.rollout.outcome == "ongoing"}
    return [episode.rollout for episode in episodes.values()]


def _begin(episodes: Mapping[int, _Episode], pool: EnvPool) -> None:
    """Begin episodes, those again that are lost at once."""
    left = dict(episodes)
    while left:
        for number, episode in left.items():
            episode.begun += 1
            if episode.begun > ATTEMPTS:
                raise EpisodeLost(
                    f"{pool.url} lost the episode of session {number} {ATTEMPTS} times; see the server's log"
                )
        answers: dict[int, Answer] = pool.reset({n: episode.options for n, episode in left.items()})
        for n, answer in answers.items():
            if not isinstance(answer, EpisodeLost):
                left.pop(n).begin(answer)
