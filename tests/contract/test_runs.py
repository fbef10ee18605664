"""Curricula on a real server: routes behind a token, slots over the socket, outcomes that are kept."""

import inspect
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import httpx
import pytest

from orbital_ops_env.client import (
    SYSTEM_PROMPT,
    HeldOut,
    OrbitalOpsAction,
    OrbitalOpsEnv,
    RunOptions,
    Runs,
)
from orbital_ops_env.client.tools import TOOL_PROMPT, OrbitalOpsTools
from orbital_ops_env.commands import Coast, EndMission
from orbital_ops_env.missions import ood
from orbital_ops_env.missions.catalog import SHORT_FAMILIES
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.splits import held_out

TOKEN = "a token for tests"
END, COAST = OrbitalOpsAction(command=EndMission()), OrbitalOpsAction(command=Coast(duration_s=30))
SMALL: dict[str, Any] = {"members": 2, "missions": 4}


@pytest.fixture
def run(runs: Runs, request: pytest.FixtureRequest) -> str:
    """A small run of the test's own."""
    name = request.node.name.replace("[", ".").strip("]")[:64]
    runs.create(RunOptions(run_id=name, changes=SMALL, families=("hold-v0", "retarget-v0")))
    return name


def slot(run: str, index: int, member: int) -> dict[str, Any]:
    return {"split": "curriculum", "index": index, "run_id": run, "member": member}


def outcomes(runs: Runs, run: str) -> list[tuple[int, int, int, str]]:
    """Slot, member, success and reason of each outcome."""
    tables = json.loads(runs.snapshot(run))["tables"]
    return [(row[2], row[3], row[4], row[6]) for row in tables["outcome"]]


def until(told: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 1800
    while not told():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# -- routes ------------------------------------------------------------------------------------


def test_the_routes_need_the_token(url: str, narrow_url: str) -> None:
    described = httpx.get(f"{url}/openapi.json").json()["paths"]
    routes = [(m, path) for path, methods in described.items() for m in methods if "/curriculum/" in path]
    assert len(routes) == 12
    for method, route in routes:
        path = route.replace("{run_id}", "x").replace("{mission}", "y")
        assert httpx.request(method, url + path).status_code == 401
        assert httpx.request(method, url + path, content=b"{" * 1000).status_code == 401
    with pytest.raises(PermissionError, match="expected the server's CURRICULUM_TOKEN"):
        Runs(url, "guess").names()
    with pytest.raises(PermissionError, match="no token, or spaces around it: expected the server's"):
        Runs(url, "")
    with pytest.raises(PermissionError, match="has no CURRICULUM_TOKEN: set one"):
        Runs(narrow_url, TOKEN).names()


def test_a_run_is_created_listed_and_told(runs: Runs, run: str) -> None:
    assert run in runs.names()
    told = runs.status(run)
    assert (told.run_id, told.preset["members"], told.preset["informativeness"]) == (run, 2, "success")
    assert (told.generation, told.slots, told.outcomes, told.alarms) == (0, 0, 0, ())
    assert len(runs.missions(run, generation=0)) == 4


def test_a_run_is_of_all_families_whose_missions_are_short(runs: Runs) -> None:
    assert RunOptions(run_id="all").families == SHORT_FAMILIES
    assert runs.create(RunOptions(run_id="all", changes=SMALL)).families == SHORT_FAMILIES


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "evaa"}, "no preset 'evaa': expected one of uniform, ladder030, eva_literal, eva"),
        ({"changes": {"membres": 4}}, "a preset has no number 'membres' to change, did you mean members"),
        ({"changes": {"members": 1}}, "members: .*greater than or equal to 2"),
        ({"changes": {"evolved": 2}}, "evolved: .*less than or equal to 1"),
        ({"changes": {"sampled": 0.1}}, "expected at least `evolved`"),
        ({"families": ("mission-ops-v0",)}, "expected some of detumble-v0"),
        ({"families": ("hold-v0", "hold-v0")}, "expected some of detumble-v0, .*, each once"),
        ({"changes": {"first_levels": []}}, "first_levels: .*at least 1 item"),
        ({"changes": {"first_levels": [11]}}, "first_levels: .*less than or equal to 9"),
        ({"changes": {"members": 10**30}}, "members: .*less than or equal to 1024"),
        ({"changes": {"certificate_needed": 9}}, "9 of 8 seeds: expected at least 1, and no more than all"),
        ({"changes": {"kind": "ladder"}}, "a preset has no number 'kind' to change"),
    ],
)
def test_a_run_that_cannot_be_is_refused_in_words(runs: Runs, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runs.create(RunOptions(run_id="never", **options))
    assert "never" not in runs.names()


def test_what_is_not_there_is_told(runs: Runs, run: str) -> None:
    for ask in (runs.status, runs.metrics, runs.missions, runs.lineage, runs.pause, runs.snapshot):
        with pytest.raises(LookupError, match="no run 'nowhere': expected one of"):
            ask("nowhere")
    with pytest.raises(LookupError, match="has no mission 'abc'"):
        runs.mission(run, "abc")
    with pytest.raises(ValueError, match="not a snapshot of run"):
        runs.restore(run, b"nonsense")
    with pytest.raises(ValueError, match="it has no 'format'"):
        runs.restore(run, b"{}")


def test_no_tool_command_or_schema_of_the_model_tells_of_curricula(url: str) -> None:
    with urlopen(f"{url}/schema", timeout=30) as answer:
        action = json.load(answer)["action"]
    tools = {name: inspect.getdoc(each) for name, each in vars(OrbitalOpsTools).items() if name[0] != "_"}
    assert tools.keys() > {"slew", "end_mission"}
    del tools["reset"]
    for text in (json.dumps(action), json.dumps(tools), TOOL_PROMPT, SYSTEM_PROMPT):
        assert "curriculum" not in text.lower()
        assert "run_id" not in text


# -- slots over the socket ---------------------------------------------------------------------


def test_all_members_of_a_slot_fly_the_same_and_are_counted_once(url: str, runs: Runs, run: str) -> None:
    states, texts = [], []
    with OrbitalOpsEnv(url).sync() as env:
        for member in (0, 1, 1):
            texts.append(env.reset(**slot(run, 0, member)).observation.model_dump_json())
            states.append(env.state())
            env.step(END)
    assert len(set(texts)) == 1
    assert [(s.split, s.index, s.run_id, s.member) for s in states[:2]] == [
        ("curriculum", 0, run, 0),
        ("curriculum", 0, run, 1),
    ]
    assert outcomes(runs, run) == [(0, 0, 0, "ended"), (0, 1, 0, "ended")]
    (window,) = runs.metrics(run)
    assert (window["groups"], window["episodes"], window["success"]) == (1, 2, 0.0)


def test_an_episode_that_is_left_after_its_first_step_has_failed(url: str, runs: Runs, run: str) -> None:
    with OrbitalOpsEnv(url).sync() as env:
        env.reset(**slot(run, 0, 0))
        env.reset(**slot(run, 1, 0))  # nothing was begun
        env.step(COAST)
        env.reset(**slot(run, 2, 0))
        env.step(COAST)
        env.reset(seed=3)
    assert outcomes(runs, run) == [(1, 0, 0, "abandoned"), (2, 0, 0, "abandoned")]
    assert (runs.status(run).abandoned, runs.status(run).flying) == (2, 0)


def test_a_member_whose_socket_broke_off_is_flown_anew_and_counts_once(
    url: str, runs: Runs, run: str, open_session
) -> None:
    session = open_session(url)
    session.reset(**slot(run, 0, 1))
    session.step(Coast(duration_s=30))
    session.socket.socket.close()
    with OrbitalOpsEnv(url).sync() as env:
        env.reset(**slot(run, 0, 1))
        env.step(COAST)
        env.step(END)
    assert outcomes(runs, run) == [(0, 1, 0, "ended")]
    assert (runs.status(run).flying, runs.status(run).again) == (0, 1)


def test_only_the_last_session_that_began_a_member_counts_for_it(url: str, runs: Runs, run: str) -> None:
    with OrbitalOpsEnv(url).sync() as stale, OrbitalOpsEnv(url).sync() as env:
        stale.reset(**slot(run, 0, 0))
        stale.step(COAST)
        env.reset(**slot(run, 0, 0))
        env.step(COAST)
        stale.step(COAST)
        stale.step(END)
        assert outcomes(runs, run) == []
        env.step(COAST)
        env.reset(seed=1)
        assert outcomes(runs, run) == [(0, 0, 0, "abandoned")]
        stale.reset(**slot(run, 0, 0))
        stale.step(END)
    assert outcomes(runs, run) == [(0, 0, 0, "abandoned")]
    assert runs.status(run).again == 2


def test_an_episode_from_before_a_restore_does_not_count(url: str, runs: Runs, run: str) -> None:
    with OrbitalOpsEnv(url).sync() as stale, OrbitalOpsEnv(url).sync() as env:
        stale.reset(**slot(run, 0, 0))
        kept = runs.snapshot(run)
        stale.step(COAST)
        runs.restore(run, kept)
        assert runs.status(run).flying == 0
        env.reset(**slot(run, 0, 0))
        env.step(COAST)
        stale.step(END)
        assert outcomes(runs, run) == []
        env.step(END)
    assert outcomes(runs, run) == [(0, 0, 0, "ended")]


def test_names_of_runs_are_told_to_nobody_who_has_no_token(url: str, run: str) -> None:
    with OrbitalOpsEnv(url).sync() as env, pytest.raises(RuntimeError) as refused:
        env.reset(**slot("nowhere", 0, 0))
    assert run not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"run_id": "x"}, "reset with run_id: run_id and member are for split 'curriculum'"),
        ({"split": "curriculum", "index": 0}, "reset with split, index: expected run_id too"),
        ({"split": "curriculum", "run_id": "x"}, "reset with split, run_id: expected index too"),
        (
            {"split": "val", "index": 0, "run_id": "x", "member": 0},
            "reset with split, index, run_id, member: run_id and member are for split 'curriculum'",
        ),
        (slot("nowhere", 0, 0), "no run 'nowhere'"),
        (slot("a b", 0, 0), "run_id: .*match pattern"),
        (slot("..", 0, 0), "run_id: .*match pattern"),
        (slot("nowhere", 2**70, 0), "index: .*less than 9223372036854775808"),
        (slot("nowhere", 0, -1), "member: .*greater than or equal to 0"),
        (slot("nowhere", 0, 0) | {"level": 3}, "a task and level: expected one or the other"),
        (slot("nowhere", 0, 0) | {"episode_seed": 3}, "a task and episode_seed: expected one or the other"),
    ],
)
def test_a_slot_that_is_named_wrongly_is_refused(url: str, options: dict[str, Any], message: str) -> None:
    with OrbitalOpsEnv(url).sync() as env, pytest.raises(RuntimeError, match=message):
        env.reset(**options)


def test_a_paused_run_refuses_new_slots_until_it_is_resumed(url: str, runs: Runs, run: str) -> None:
    with OrbitalOpsEnv(url).sync() as env:
        env.reset(**slot(run, 0, 0))
        assert runs.pause(run).paused
        env.reset(**slot(run, 0, 1))
        with pytest.raises(RuntimeError, match="is paused and slot 1 is new: resume the run"):
            env.reset(**slot(run, 1, 0))
        assert not runs.resume(run).paused
        env.reset(**slot(run, 1, 0))


def test_held_out_success_that_falls_while_training_rises_is_an_alarm(runs: Runs, run: str, url: str) -> None:
    runs.report(run, HeldOut(success=0.6, episodes=50))
    restored = json.loads(runs.snapshot(run))
    assert not runs.status(run).alarms
    # No learner of a test succeeds in a moment: what training did is put in with the log.
    spec = restored["tables"]["place"][0][3]
    restored["tables"]["binding"] = [[run, 0, 1, spec, 5, 0, 0, 0]]
    restored["tables"]["outcome"] = [[run, 1 + m, 0, m, 1, 0.9, "succeeded"] for m in (0, 1)]
    runs.restore(run, json.dumps(restored).encode())
    told = runs.report(run, HeldOut(success=0.4, episodes=50))
    assert told.alarms == ("held-out success fell by 0.20 since training began",)


# -- what outlives a server --------------------------------------------------------------------


@pytest.fixture
def lasting(starting_server: Callable[..., Any], tmp_path: Path) -> Callable[[], Any]:
    """Servers of the test's own, one after another, on the same file."""
    database = tmp_path / "runs.sqlite"
    return lambda: starting_server(CURRICULUM_TOKEN=TOKEN, CURRICULUM_DATABASE=str(database))


@pytest.mark.slow
def test_a_killed_server_loses_nothing_and_what_it_was_flying_is_nobodys_failure(lasting) -> None:
    with lasting() as (url, process):
        runs = Runs(url, TOKEN)
        runs.create(RunOptions(run_id="first", changes=SMALL, families=("hold-v0",)))
        with OrbitalOpsEnv(url).sync() as env:
            env.reset(**slot("first", 0, 0))
            env.step(END)
            env.reset(**slot("first", 0, 1))
            state = env.state()
            env.step(COAST)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    with lasting() as (url, _):
        runs = Runs(url, TOKEN)
        told = runs.status("first")
        assert (told.slots, told.outcomes, told.released, told.flying) == (1, 1, 1, 0)
        with OrbitalOpsEnv(url).sync() as env:
            env.reset(**slot("first", 0, 1))
            again = env.state()
            env.step(END)
        assert (again.spec_hash, again.episode_seed) == (state.spec_hash, state.episode_seed)
        assert outcomes(runs, "first") == [(0, 0, 0, "ended"), (0, 1, 0, "ended")]


@pytest.mark.slow
def test_two_thousand_episodes_and_no_reset_waits_for_a_certificate(lasting, tmp_path: Path) -> None:
    with lasting() as (url, _):
        runs = Runs(url, TOKEN)
        runs.create(RunOptions(run_id="first", changes={"missions": 8}, families=("hold-v0", "coast-v0")))
        _give_up_all(url, range(234))
        until(lambda: bool(runs.status("first").generation))
        _give_up_all(url, range(234, 250))  # of the evolved generation
        told = runs.status("first")
        kept = json.loads(runs.snapshot("first"))["tables"]
    assert (told.slots, told.outcomes, told.abandoned, told.flying) == (250, 2000, 0, 0)
    assert told.generation
    assert told.resets_while_making > 0
    assert told.slow_resets == 0
    assert told.repeated > 0
    assert sum(path.stat().st_size for path in tmp_path.glob("runs.sqlite*")) < 100e6
    specs = [MissionSpec.model_validate_json(row[2]) for row in kept["mission"]]
    assert not [spec for spec in specs if held_out().near(spec)]
    assert not {fault.kind for spec in specs for fault in spec.faults} & set(ood.KINDS)
    assert max(len(spec.faults) for spec in specs) <= 1
    assert max(spec.clock_s for spec in specs) <= 1800
    verdicts = {row[1]: row[4] for row in kept["certificate"]}
    children = {row[1] for row in kept["edge"]}
    placed = {row[3] for row in kept["place"]}
    assert {verdicts[each] for each in children & placed} == {"accepted"}


def _give_up_all(url: str, slots: range) -> None:
    """Fly groups of eight that end at once, eight episodes at a time."""
    todo = iter([(index, member) for index in slots for member in range(8)])
    with ThreadPoolExecutor(8) as threads:
        for flown in [threads.submit(_give_up, url, todo) for _ in range(8)]:
            flown.result()


def _give_up(url: str, todo: Iterator[tuple[int, int]]) -> None:
    with OrbitalOpsEnv(url).sync() as env:
        for index, member in todo:
            env.reset(**slot("first", index, member))
            env.step(END)
