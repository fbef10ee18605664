"""Runs in the training environment (`make notebook`), which has no Basilisk: the server lives in `.venv`."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from orbital_ops_env.client import OrbitalOpsEnv, Runs
from orbital_ops_env.training.server import local_server

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = 8
TOKEN = "a token for tests"
PATIENCE_S = 60.0
"""[s] for a server to notice that a session is closed."""


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """A real server with room for eight sessions."""
    own = {"MAX_CONCURRENT_ENVS": str(SESSIONS), "CURRICULUM_TOKEN": TOKEN}
    with local_server(str(ROOT / ".venv/bin/python"), **own) as address:
        yield address


@pytest.fixture
def runs(url: str) -> Runs:
    """The server's curricula."""
    return Runs(url, TOKEN)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Folder of the tiny random model."""
    smoke = pytest.importorskip("orbital_ops_env.training.smoke", reason="needs the training environment")
    return str(smoke.write_tiny_model(tmp_path_factory.mktemp("tiny")))


@pytest.fixture
def sessions(url: str) -> Callable[[int], int]:
    """Counts the sessions that others have open; waits a little for the expected number of them."""

    def count() -> int:
        with ExitStack() as mine:
            for opened in range(SESSIONS):
                try:
                    mine.enter_context(OrbitalOpsEnv(url).sync()).reset()
                except RuntimeError:  # no room left
                    return SESSIONS - opened
        return 0

    def sessions(expected: int) -> int:
        until = time.monotonic() + PATIENCE_S
        while (found := count()) != expected and time.monotonic() < until:
            time.sleep(1)  # the server closes those of the last count too
        return found

    return sessions
