"""A server that dies, hangs or comes back in the middle of rollouts: no hang, and nothing lost counts."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from orbital_ops_env.commands import Coast, EndMission, encode
from orbital_ops_env.training import pool as pools
from orbital_ops_env.training.chat import Chat
from orbital_ops_env.training.pool import EnvPool
from orbital_ops_env.training.rollout import multi_turn
from orbital_ops_env.training.server import HOST, wait_until_healthy

OPTIONS: list[dict[str, Any]] = [{"family": "retarget-v0", "level": 2, "seed": seed} for seed in (1, 2)]
COAST = encode(Coast(duration_s=30))
GIVE_UP = encode(EndMission())
BOUND_S = 60.0
"""[s] within which a dead server must have been noticed."""
SILENCE_S = 3.0
"""[s] of patience with a server that hangs, here."""


class Characters:
    """A tokenizer whose tokens are characters."""

    eos_token_id = 3

    def apply_chat_template(self, messages: list[dict[str, str]], **_: Any) -> str:
        return "".join(message["content"] + chr(self.eos_token_id) for message in messages)

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        return {"input_ids": [ord(character) for character in text]}

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        return "".join(map(chr, ids))


def fly(url: str, say: Callable[[int], str]) -> Any:
    """Two episodes of a model that says one thing a turn in both."""
    turn = iter(range(100))
    chat = Chat(Characters())
    with EnvPool(url, len(OPTIONS)) as pool:

        def replies(batch: list[list[int]]) -> list[list[int]]:
            said = chat.reply(say(next(turn)))
            return [said for _ in batch]

        return multi_turn(OPTIONS, pool, replies, chat)


@pytest.mark.slow
@pytest.mark.parametrize("in_flight", [False, True], ids=["between steps", "during a step"])
def test_a_server_that_is_killed_is_an_error_that_names_it(mortal, in_flight: bool) -> None:
    url, process = mortal

    def say(turn: int) -> str:
        if turn == 1 and in_flight:
            process.send_signal(signal.SIGSTOP)  # it takes the step and does not answer
            threading.Timer(1.0, process.kill).start()
        elif turn == 1:
            process.kill()
            process.wait()
        return COAST

    began = time.monotonic()
    with pytest.raises(ConnectionError, match=url.removeprefix("http://")):
        fly(url, say)
    assert time.monotonic() - began < BOUND_S


@pytest.mark.slow
def test_a_server_that_hangs_is_an_error(mortal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "PATIENCE_S", SILENCE_S)
    url, process = mortal

    def say(turn: int) -> str:
        if turn == 1:
            process.send_signal(signal.SIGSTOP)
        return COAST

    began = time.monotonic()
    try:
        with pytest.raises(TimeoutError, match=rf"{url} did not answer session \d for 3 s"):
            fly(url, say)
    finally:
        process.kill()
    assert time.monotonic() - began < BOUND_S


@pytest.mark.slow
def test_episodes_of_a_server_that_is_back_are_begun_again(mortal) -> None:
    url, process = mortal
    port = url.rpartition(":")[2]
    back: list[subprocess.Popen[bytes]] = []

    def say(turn: int) -> str:
        if turn == 1:
            process.kill()
            process.wait()
            command = [sys.executable, "-m", "orbital_ops_env.server.app"]
            chosen = os.environ | {"HOST": HOST, "PORT": port}
            back.append(
                subprocess.Popen(command, env=chosen, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
            )
            wait_until_healthy(url)
        return COAST if turn < 2 else GIVE_UP

    try:
        rollouts = fly(url, say)
    finally:
        for each in back:
            each.kill()
            each.wait()
    for rollout in rollouts:
        assert [type(command) for command in rollout.commands] == [EndMission]
        assert "t=0 " in rollout.transcript[0]
        assert rollout.outcome == "ended"
