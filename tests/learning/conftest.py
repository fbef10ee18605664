"""Runs in the training environment (`make notebook`), which has no Basilisk: the server lives in `.venv`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orbital_ops_env.training.server import local_server

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = "8"


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """A real server with room for eight sessions."""
    with local_server(str(ROOT / ".venv/bin/python"), MAX_CONCURRENT_ENVS=SESSIONS) as address:
        yield address


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Folder of the tiny random model."""
    smoke = pytest.importorskip("orbital_ops_env.training.smoke", reason="needs the training environment")
    return str(smoke.write_tiny_model(tmp_path_factory.mktemp("tiny")))
