"""A full server says so, and a freed place is a place."""

import json

import pytest
from websockets.exceptions import ConnectionClosed

from orbital_ops_env.client import OrbitalOpsEnv


def test_a_full_server_refuses_clearly_and_recovers(narrow_url: str, open_session) -> None:
    first, second = open_session(narrow_url), open_session(narrow_url)
    for session in (first, second):
        session.reset(seed=1)
    refused = open_session(narrow_url)
    answer = json.loads(refused.socket.recv(timeout=20))["data"]
    assert answer["code"] == "CAPACITY_REACHED"
    assert (answer["active_sessions"], answer["max_sessions"]) == (2, 2)
    with pytest.raises(ConnectionClosed):
        refused.reset(seed=1)
    with OrbitalOpsEnv(narrow_url).sync() as env:
        with pytest.raises(RuntimeError, match="CAPACITY_REACHED"):
            env.reset(seed=1)
        first.socket.close()
        assert env.reset(seed=1).observation.brief is not None
    assert second.state()["seed"] == 1


def test_a_socket_that_breaks_off_frees_its_place(narrow_url: str, open_session) -> None:
    for _ in range(5):
        session = open_session(narrow_url)
        session.reset(seed=2)
        session.socket.socket.close()
        with OrbitalOpsEnv(narrow_url).sync() as env:
            env.reset(seed=2)
