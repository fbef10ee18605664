"""The client: one episode at a time, and an error with a name whenever there is none."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any, cast

import pytest
from openenv.core.sync_client import SyncEnvClient
from websockets.sync.server import ServerConnection, serve

from orbital_ops_env.client import (
    EpisodeLost,
    EpisodeNotStarted,
    EpisodeOver,
    OrbitalOpsAction,
    OrbitalOpsEnv,
    OrbitalOpsObservation,
    OrbitalOpsState,
)
from orbital_ops_env.commands import Coast, EndMission, parse
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.server.episode import Episode

Client = SyncEnvClient[OrbitalOpsAction, OrbitalOpsObservation, OrbitalOpsState]
COAST = OrbitalOpsAction(command=Coast(duration_s=30))
LONG = Coast(duration_s=1200)
GIVE_UP = OrbitalOpsAction(command=EndMission())
MISSION: dict[str, Any] = {"family": "retarget-v0", "level": 3, "seed": 17, "episode_seed": 5}


@pytest.fixture
def env(url: str) -> Iterator[Client]:
    with OrbitalOpsEnv(url).sync() as env:
        yield env


def cut(env: Client) -> None:
    """Close the socket under a client, without telling it."""
    loop, socket = env._loop, env.async_client._ws
    assert loop is not None
    assert socket is not None
    asyncio.run_coroutine_threadsafe(socket.close(), loop).result(timeout=20)


def test_a_step_before_the_first_reset_says_so(env: Client) -> None:
    with pytest.raises(EpisodeNotStarted, match="call reset"):
        env.step(COAST)
    assert env.reset(**MISSION).observation.brief is not None


@pytest.mark.parametrize("action", ["slew", {"command": "slew"}, Coast(duration_s=30), None])
def test_something_else_than_an_action_is_a_clear_error_and_costs_nothing(env: Client, action: Any) -> None:
    env.reset(**MISSION)
    with pytest.raises(TypeError, match=f"expected an OrbitalOpsAction, got {type(action).__name__}"):
        env.step(action)
    assert env.state().step_count == 0


def test_a_step_after_the_end_says_so(env: Client) -> None:
    env.reset(**MISSION)
    assert env.step(GIVE_UP).done
    for _ in range(2):
        with pytest.raises(EpisodeOver, match=r"ended.*call reset"):
            env.step(COAST)
    assert env.state().step_count == 1
    assert not env.reset(**MISSION).done
    assert env.step(COAST).observation.telemetry.time_s == pytest.approx(30)


def test_a_dropped_connection_loses_the_episode_and_says_so(env: Client) -> None:
    env.reset(**MISSION)
    env.step(COAST)
    cut(env)
    for _ in range(2):
        with pytest.raises(EpisodeLost, match="call reset"):
            env.step(COAST)
    env.reset(**MISSION)
    assert env.step(COAST).observation.telemetry.time_s == pytest.approx(30)


def test_a_connection_dropped_in_mid_step_loses_the_episode_too(url: str) -> None:
    async def fly() -> None:
        async with OrbitalOpsEnv(url) as env:
            await env.reset(**MISSION)
            flying = asyncio.ensure_future(env.step(OrbitalOpsAction(command=LONG)))
            await asyncio.sleep(0.01)
            assert env._ws is not None
            await env._ws.close()
            with pytest.raises(EpisodeLost, match="call reset"):
                await flying
            await env.reset(**MISSION)
            assert (await env.step(COAST)).observation.telemetry.time_s == pytest.approx(30)

    asyncio.run(fly())


def test_a_server_that_is_gone_has_lost_the_episode(mortal: tuple[str, "subprocess.Popen[bytes]"]) -> None:
    url, server = mortal
    with cast(Client, OrbitalOpsEnv(url).sync()) as env:
        env.reset(**MISSION)
        env.step(COAST)
        server.kill()
        server.wait()
        for _ in range(2):
            with pytest.raises(EpisodeLost, match="call reset"):
                env.step(COAST)
        with pytest.raises(ConnectionError):
            env.reset(**MISSION)


def test_a_connection_dropped_before_the_first_reset_lost_nothing(env: Client) -> None:
    cut(env)
    with pytest.raises(EpisodeNotStarted):
        env.step(COAST)


def test_a_refused_reset_leaves_the_episode_alone(env: Client) -> None:
    env.reset(**MISSION)
    with pytest.raises(RuntimeError, match=r"option 'levle', did you mean level\? Known: family, level"):
        env.reset(levle=3)
    assert env.step(COAST).observation.telemetry.time_s == pytest.approx(30)


def test_the_state_says_which_episode_it_is(env: Client) -> None:
    assert env.state().family is None
    env.reset(**MISSION, episode_id="flight-7")
    env.step(COAST)
    env.step(COAST)
    state = env.state()
    spec = generate(MISSION["family"], MISSION["level"], MISSION["seed"])
    assert state.model_dump() == {
        **MISSION,
        "episode_id": "flight-7",
        "step_count": 2,
        "spec_hash": spec.content_hash,
        "outcome": "ongoing",
        "split": None,
        "run_id": None,
        "member": None,
        "index": None,
    }


def test_every_reset_is_an_episode_of_its_own(env: Client) -> None:
    ids = []
    for _ in range(2):
        env.reset(**MISSION)
        ids.append(env.state().episode_id)
        assert env.state().step_count == 0
    assert len({*ids, None}) == 3


def test_the_episode_seed_defaults_to_the_mission_seed(env: Client) -> None:
    first = env.reset(family="detumble-v0", seed=4).observation
    assert env.state().episode_seed == 4
    assert env.reset(family="detumble-v0", seed=4, episode_seed=4).observation == first
    assert env.reset(family="detumble-v0", seed=4, episode_seed=5).observation != first


def test_an_unreadable_reply_costs_a_turn_and_ten_seconds(env: Client) -> None:
    turns = env.reset(**MISSION).observation.telemetry.turns_left
    reply = OrbitalOpsAction(command=parse("Let me coast."))
    telemetry = env.step(reply).observation.telemetry
    assert telemetry.time_s == pytest.approx(10)
    assert telemetry.turns_left == turns - 1
    assert telemetry.reason == "refused"
    assert telemetry.detail.startswith("only one JSON object")


# -- three ways to use it ----------------------------------------------------------------------


def by_sync(url: str) -> list[float]:
    with OrbitalOpsEnv(url).sync() as env:
        with pytest.raises(EpisodeNotStarted):
            env.step(COAST)
        results = [env.reset(**MISSION), env.step(COAST), env.step(GIVE_UP)]
        with pytest.raises(EpisodeOver):
            env.step(COAST)
    return [result.observation.telemetry.rate_deg_s for result in results]


def by_await(url: str) -> list[float]:
    async def fly() -> list[float]:
        async with OrbitalOpsEnv(url) as env:
            with pytest.raises(EpisodeNotStarted):
                await env.step(COAST)
            results = [await env.reset(**MISSION), await env.step(COAST), await env.step(GIVE_UP)]
            with pytest.raises(EpisodeOver):
                await env.step(COAST)
        return [result.observation.telemetry.rate_deg_s for result in results]

    return asyncio.run(fly())


def by_plain_calls(url: str) -> list[float]:
    env = OrbitalOpsEnv(url)
    try:
        with pytest.raises(EpisodeNotStarted):
            env.step(COAST)
        results = [env.reset(**MISSION), env.step(COAST), env.step(GIVE_UP)]
        with pytest.raises(EpisodeOver):
            env.step(COAST)
    finally:
        env.sync().close()
    return [result.observation.telemetry.rate_deg_s for result in results]


@pytest.mark.parametrize("use", [by_sync, by_await, by_plain_calls])
def test_every_way_to_use_the_client_is_the_same_flight(url: str, use: Callable[[str], list[float]]) -> None:
    episode = Episode(generate("retarget-v0", 3, 17), episode_seed=5)
    flown = [episode.observation, *(episode.step(a.command) for a in (COAST, GIVE_UP))]
    assert use(url) == [observation.telemetry.rate_deg_s for observation in flown]


def test_the_typed_result_holds_all_that_was_flown(env: Client) -> None:
    episode = Episode(generate("retarget-v0", 3, 17), episode_seed=5)
    assert env.reset(**MISSION).observation == episode.observation
    for action in (COAST, GIVE_UP):
        result = env.step(action)
        assert result.observation == episode.step(action.command)
        assert result.reward == result.observation.reward
        assert result.done == result.observation.done


def test_a_connection_that_drops_during_a_reset_is_a_lost_episode() -> None:
    def hang_up(connection: ServerConnection) -> None:
        connection.recv()
        connection.close()

    with serve(hang_up, "127.0.0.1", 0) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        port = server.socket.getsockname()[1]
        with OrbitalOpsEnv(f"http://127.0.0.1:{port}").sync() as env, pytest.raises(EpisodeLost):
            env.reset()
        server.shutdown()
        thread.join()
