"""The benchmark compares what it says it compares; no speed is asserted."""

import os
import threading
import time
from functools import partial

import pytest
import uvicorn
from openenv.core.env_server import create_app

from orbital_ops_env.client import OrbitalOpsAction, OrbitalOpsObservation
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.studies import bench
from orbital_ops_env.studies.raw_basilisk import (
    Course,
    Nothing,
    RawFlight,
    build_s,
    coast,
    find_course,
    hold,
)


@pytest.fixture(scope="module")
def coasting() -> Course:
    return find_course(coast, 30.0, 2)


@pytest.fixture
def bare_url(coasting):
    observation = Episode(coasting.spec, coasting.spec.seed).step(coasting.command)
    make = partial(Nothing, observation)
    app = create_app(make, OrbitalOpsAction, OrbitalOpsObservation, max_concurrent_envs=8)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.mark.parametrize("kind", [coast, hold])
def test_raw_basilisk_flies_as_the_plant_does(kind):
    course = find_course(kind, 30.0, 2)
    raw, plant = RawFlight(course), course.plant()
    for _ in range(course.repeats):
        assert raw.fly_s() > 0
        assert not raw.ended_at(plant.snapshot)
        plant.execute(course.command)
        assert raw.ended_at(plant.snapshot)


@pytest.mark.parametrize("kind", [coast, hold])
def test_raw_plant_and_wire_are_timed_on_the_same_flight(kind, url):
    times = bench.time_steps(url, find_course(kind, 30.0, 3), episodes=2)
    assert len(times) == 6
    assert all(seconds > 0 for row in times for seconds in row)


def test_resets_and_pairs_are_timed_through_the_wire(url, coasting):
    resets = bench.time_resets(url, missions=1)
    assert {len(row) for times in resets.values() for row in times} == {3}
    wire, raw = bench.time_pairs(url, coasting, rounds=1)
    assert wire[0] > 0
    assert raw[0] > 0


def test_a_course_is_flown_in_full(coasting):
    assert coasting.flies()
    assert not coast(coasting.spec, 1200.0, 3).flies()


def test_a_build_takes_time(coasting):
    assert build_s(coasting.spec, 1) > 0


def test_contenders_take_turns_to_go_first():
    order: list[str] = []
    contenders = [lambda n=n: order.append(n) or float(ord(n)) for n in "abc"]
    assert bench.in_turn(1, contenders) == (97.0, 98.0, 99.0)
    assert order == ["b", "c", "a"]


def test_calls_at_once_are_prepared_anew():
    order: list[str] = []

    def prepare():
        order.append("prepare")
        return [lambda: order.append("call")] * 2

    assert bench.gain(prepare) > 0
    assert order == ["prepare", "call", "call"] * 2


def test_ratios_are_taken_within_a_round():
    times = [(1.0, 1.0, 2.0), (2.0, 4.0, 2.0), (4.0, 4.0, 12.0)]
    found = bench.summary(times)
    assert found["raw_ms"] == 2000.0
    assert (found["plant_ratio"], found["wire_ratio"]) == (1.0, 2.0)


def test_sessions_load_a_server(bare_url, coasting):
    found = bench.load(bare_url, coasting, sessions=3, episodes=2, server=os.getpid())
    assert found.steps_per_s > 0
    assert 0 < found.p50_ms <= found.p99_ms
    assert found.rss_mb > 1


def test_tables_show_every_figure():
    row = bench.summary([(1.0, 2.0, 3.0)])
    crowd = {1: {"steps_per_s": 1.0, "p50_ms": 1.0, "p99_ms": 1.0, "rss_mb": 1.0}}
    measured = {"reset_ratio": 1.5, "reset": {"all": row}, "step": {"coast": row}} | {
        "load": crowd,
        "framework": crowd,
    }
    assert [table.row_count for table in bench.tables(measured)] == [1, 2, 2]
