"""Many sessions at once: clients of one server on one event loop in a thread of its own."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final, Self

from anyio.from_thread import start_blocking_portal

from orbital_ops_env.client import EpisodeLost, OrbitalOpsAction, OrbitalOpsEnv, OrbitalOpsObservation
from orbital_ops_env.commands import AnyCommand

PATIENCE_S: Final = 120.0
"""[s] to wait for an answer; a full server takes seconds for a step."""
OPENING: Final = 32
"""[-] sessions opened at once; a server that is asked for hundreds at once answers some too late."""
Answer = OrbitalOpsObservation | EpisodeLost
"""What a session answers; a lost episode is an answer, so that one never takes the others along."""


class EnvPool:
    """Sessions on one server, each of which flies one episode at a time.

    Sessions are opened when they are first needed, and kept. Use it as a context manager.

    Args:
        url: Address of the server or Space.
        capacity: Most sessions to open.
    """

    def __init__(self, url: str, capacity: int) -> None:
        self.url = url
        self.capacity = capacity
        self.seconds = 0.0
        """[s] spent waiting for the server so far."""
        self._sessions: dict[int, OrbitalOpsEnv] = {}
        self._opening = asyncio.Semaphore(OPENING)
        self._exit = ExitStack()
        self._portal = self._exit.enter_context(start_blocking_portal())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def reset(self, options: Mapping[int, Mapping[str, Any]]) -> dict[int, Answer]:
        """Start episodes at once.

        Args:
            options: Options of `reset` by session, 0 to capacity - 1.

        Returns:
            The first observation by session.

        Raises:
            ValueError: There is no such session.
            ConnectionError: The server cannot be reached; the message names its address.
            RuntimeError: The server refused an option, or has no room for another session.
        """
        return self._at_once({n: lambda env, o=o: env.reset(**o) for n, o in options.items()})

    def step(self, commands: Mapping[int, AnyCommand]) -> dict[int, Answer]:
        """Fly one command in each of some sessions at once.

        Args:
            commands: The command by session.

        Returns:
            The observation by session, or `EpisodeLost` where the episode is gone.

        Raises:
            EpisodeError: A session has no running episode.
            TimeoutError: The server hangs.
        """
        actions = {n: OrbitalOpsAction(command=command) for n, command in commands.items()}
        return self._at_once({n: lambda env, a=a: env.step(a) for n, a in actions.items()})

    def close(self) -> None:
        """Close every session and the event loop."""
        self._exit.close()

    def _at_once(self, calls: Mapping[int, Callable[[OrbitalOpsEnv], Awaitable[Any]]]) -> dict[int, Answer]:
        began = time.perf_counter()
        try:
            return self._portal.call(self._gather, calls)
        finally:
            self.seconds += time.perf_counter() - began

    async def _gather(
        self, calls: Mapping[int, Callable[[OrbitalOpsEnv], Awaitable[Any]]]
    ) -> dict[int, Answer]:
        told = await asyncio.gather(*(self._ask(n, c) for n, c in calls.items()), return_exceptions=True)
        answers: dict[int, Answer] = {}
        for number, answer in zip(calls, told, strict=True):
            if isinstance(answer, BaseException) and not isinstance(answer, EpisodeLost):
                raise answer  # only now, when no call is still on its way
            answers[number] = answer
        return answers

    async def _ask(
        self, number: int, call: Callable[[OrbitalOpsEnv], Awaitable[Any]]
    ) -> OrbitalOpsObservation:
        if not 0 <= number < self.capacity:
            raise ValueError(f"no session {number}: the pool has {self.capacity}, 0 to {self.capacity - 1}")
        if number not in self._sessions:
            env = OrbitalOpsEnv(self.url, connect_timeout_s=PATIENCE_S, message_timeout_s=PATIENCE_S)
            async with self._opening:
                await env.connect()
            self._sessions[number] = env
            self._exit.callback(self._portal.call, env.close)
        try:
            return (await call(self._sessions[number])).observation
        except TimeoutError as error:
            raise TimeoutError(
                f"{self.url} did not answer session {number} for {PATIENCE_S:.0f} s; see the server's log"
            ) from error
