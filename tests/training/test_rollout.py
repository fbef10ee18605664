"""Episodes of a language model over a real socket, with SmolLM2's tokenizer and scripted replies."""

from collections.abc import Callable, Iterator
from typing import Any

import jinja2
import pytest

from orbital_ops_env.client import SYSTEM_PROMPT, EpisodeLost
from orbital_ops_env.commands import AnyCommand, Coast, EndMission, encode
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.server.flight import fly
from orbital_ops_env.training.chat import Chat
from orbital_ops_env.training.pool import EnvPool
from orbital_ops_env.training.rollout import ATTEMPTS, Rollout, multi_turn

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
RESET: dict[str, Any] = {"family": "retarget-v0", "level": 2}
COAST = encode(Coast(duration_s=30))
GIVE_UP = encode(EndMission())


class ChatML:
    """As much of a Hugging Face tokenizer as `Chat` asks for."""

    def __init__(self, tokenizer: Any, template: str = CHATML) -> None:
        self._tokenizer = tokenizer
        self._template = jinja2.Environment(keep_trailing_newline=True).from_string(template)
        self.eos_token_id: int = tokenizer.token_to_id("<|im_end|>")

    def apply_chat_template(self, messages: list[dict[str, str]], **options: Any) -> str:
        return self._template.render(messages=messages, **options)

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        return {"input_ids": self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids}

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)


@pytest.fixture(scope="module")
def chat(tokenizer: Any) -> Chat:
    return Chat(ChatML(tokenizer))


@pytest.fixture
def pool(url: str) -> Iterator[EnvPool]:
    with EnvPool(url, capacity=8) as pool:
        yield pool


class Replies:
    """A model that says what it is told, with or without an end of turn; it remembers what it was given."""

    def __init__(self, tokenizer: Any, chat: Chat, say: Callable[[int, int], str], *, ends: bool) -> None:
        self._tokenizer, self._chat, self._say, self._ends = tokenizer, chat, say, ends
        self.given: list[list[list[int]]] = []
        self.said: list[list[list[int]]] = []

    def __call__(self, batch: list[list[int]]) -> list[list[int]]:
        self.given.append(batch)
        turn = len(self.given) - 1
        texts = (self._say(turn, n) for n in range(len(batch)))
        ending = [self._chat.end] if self._ends else []
        self.said.append([self._tokenizer.encode(text).ids + ending for text in texts])
        return self.said[-1]


def sampled(rollout: Rollout) -> list[int]:
    return [
        i
        for i, own in zip(rollout.conversation.completion_ids, rollout.conversation.owned, strict=True)
        if own
    ]


@pytest.mark.parametrize("ends", [True, False], ids=["ended by the model", "cut off"])
def test_exactly_the_sampled_ids_are_marked_and_the_conversation_is_the_templates(
    pool: EnvPool, tokenizer: Any, chat: Chat, ends: bool
) -> None:
    replies = Replies(tokenizer, chat, lambda turn, n: COAST if turn < 2 else GIVE_UP, ends=ends)
    rollouts = multi_turn([RESET | {"seed": seed} for seed in range(3)], pool, replies, chat)
    for n, rollout in enumerate(rollouts):
        assert rollout.outcome == "ended"
        assert sampled(rollout) == [i for batch in replies.said for i in batch[n]]
        assert rollout.conversation.completion_ids[-1] == chat.end
        said = [{"role": "system", "content": SYSTEM_PROMPT}] + [
            {"role": role, "content": text}
            for role, text in zip(["user", "assistant"] * 3, rollout.transcript, strict=False)
        ]
        whole = ChatML(tokenizer).apply_chat_template(said, add_generation_prompt=False)
        assert tokenizer.decode(
            rollout.conversation.prompt_ids + rollout.conversation.completion_ids, skip_special_tokens=False
        ) == (whole.removesuffix("\n"))
        assert (
            replies.given[-1][n]
            == (rollout.conversation.prompt_ids + rollout.conversation.completion_ids)[
                : len(replies.given[-1][n])
            ]
        )


def test_what_the_reference_flies_in_process_a_model_flies_over_the_wire(
    pool: EnvPool, tokenizer: Any, chat: Chat
) -> None:
    seeds = range(4)
    flights = [fly(generate("retarget-v0", 2, seed), Reference(), seed) for seed in seeds]
    turns = [0] * len(flights)

    def say(batch: list[list[int]]) -> list[list[int]]:
        replies: list[list[int]] = []
        for n in [n for n, flight in enumerate(flights) if turns[n] < len(flight.commands)]:
            command: AnyCommand = flights[n].commands[turns[n]]
            turns[n] += 1
            replies.append([*tokenizer.encode(encode(command)).ids, chat.end])
        assert len(replies) == len(batch)
        return replies

    rollouts = multi_turn([RESET | {"seed": seed} for seed in seeds], pool, say, chat)
    for flight, rollout in zip(flights, rollouts, strict=True):
        assert rollout.outcome == flight.outcome
        assert rollout.return_ == pytest.approx(flight.return_, abs=1e-12)
        assert rollout.components == flight.components
        assert tuple(rollout.commands) == flight.commands
        assert rollout.valid_turns == 1.0


def test_a_model_that_never_emits_a_command_runs_out_of_turns_and_is_not_truncated(
    pool: EnvPool, tokenizer: Any, chat: Chat
) -> None:
    replies = Replies(tokenizer, chat, lambda turn, n: "Let me think about it.", ends=False)
    (rollout,) = multi_turn([RESET | {"seed": 1}], pool, replies, chat)
    assert rollout.outcome == "out_of_turns"
    assert rollout.valid_turns == 0.0
    assert 0.0 <= rollout.return_ < 0.01
    assert rollout.conversation.completion_ids[-1] == chat.end
    assert rollout.conversation.owned[-1] == 0


def test_a_lost_episode_is_begun_again_and_nothing_of_it_is_kept(
    pool: EnvPool, tokenizer: Any, chat: Chat
) -> None:
    def say(turn: int, n: int) -> str:
        if turn == 1:
            pool._portal.call(pool._sessions[0].disconnect)
        return COAST if turn < 3 else GIVE_UP

    rollouts = multi_turn(
        [RESET | {"seed": seed} for seed in (5, 6)], pool, Replies(tokenizer, chat, say, ends=True), chat
    )
    assert [len(rollout.commands) for rollout in rollouts] == [2, 4]
    for rollout, seed in zip(rollouts, (5, 6), strict=True):
        assert rollout.return_ == pytest.approx(rollout.components["reward/overall"], abs=1e-12)
        assert f"t=0 left={generate('retarget-v0', 2, seed).turns}" in rollout.transcript[0]


def test_an_episode_that_is_lost_again_and_again_is_an_error(
    pool: EnvPool, tokenizer: Any, chat: Chat
) -> None:
    def say(turn: int, n: int) -> str:
        pool._portal.call(pool._sessions[0].disconnect)
        return COAST

    replies = Replies(tokenizer, chat, say, ends=True)
    with pytest.raises(EpisodeLost, match=rf"session 0 {ATTEMPTS} times"):
        multi_turn([RESET], pool, replies, chat)


def test_a_wrong_address_and_a_full_server_are_clear_errors(
    narrow_url: str, tokenizer: Any, chat: Chat
) -> None:
    replies = Replies(tokenizer, chat, lambda turn, n: GIVE_UP, ends=True)
    with EnvPool("http://127.0.0.1:9", capacity=1) as nowhere, pytest.raises(ConnectionError, match=r":9/"):
        multi_turn([RESET], nowhere, replies, chat)
    with EnvPool(narrow_url, capacity=3) as three, pytest.raises(RuntimeError, match="at capacity: 2/2"):
        multi_turn([RESET] * 3, three, replies, chat)
    with EnvPool(narrow_url, capacity=1) as one, pytest.raises(ValueError, match="2 episodes at once"):
        multi_turn([RESET] * 2, one, replies, chat)


def test_a_template_that_changes_replies_is_refused(tokenizer: Any) -> None:
    dropping = ChatML(tokenizer, "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}")
    with pytest.raises(ValueError, match="template changes replies"):
        Chat(dropping).turn("x")
