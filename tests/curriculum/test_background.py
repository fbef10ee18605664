"""What goes on beside the resets, with real processes, real certificates and short leases."""

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psutil
import pytest

from orbital_ops_env.commands import Coast, EndMission
from orbital_ops_env.curriculum.archive import Archive, Outcome, Run
from orbital_ops_env.curriculum.database import IN_MEMORY, Database
from orbital_ops_env.curriculum.engine import Engine, make
from orbital_ops_env.curriculum.maker import Maker, certificate
from orbital_ops_env.curriculum.presets import PRESETS
from orbital_ops_env.models import OrbitalOpsAction
from orbital_ops_env.server import flight
from orbital_ops_env.server.environment import OrbitalOpsEnvironment
from orbital_ops_env.server.runs import Runs
from orbital_ops_env.sim.plant import Plant

WON, LOST = Outcome(True, 0.9, "succeeded"), Outcome(False, 0.1, "failed")
COAST, END = OrbitalOpsAction(command=Coast(duration_s=30)), OrbitalOpsAction(command=EndMission())


def begin(engine: Engine, preset: str = "eva", missions: int = 3) -> None:
    small = PRESETS[preset].model_copy(update={"missions": missions, "members": 2})
    engine.create(Run("first", small, ("hold-v0",), 0))


def fly(engine: Engine, missions: int = 3) -> None:
    """A generation of mixed groups."""
    for slot in range(missions):
        engine.assign("first", slot, 0)
        for member, outcome in enumerate((WON, LOST)):
            engine.record("first", slot, member, outcome)


def until(told: Callable[[], bool], limit_s: float = 1200.0) -> None:
    deadline = time.monotonic() + limit_s
    while not told():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def runs() -> Iterator[Runs]:
    with closing(Runs(workers=1)) as runs:
        yield runs


@pytest.fixture
def hasty() -> Iterator[Runs]:
    """Episodes are failures after half a second."""
    with closing(Runs(workers=1, lease_s=0.5)) as runs:
        yield runs


def slot(member: int, number: int = 0) -> dict[str, Any]:
    return {"split": "curriculum", "index": number, "run_id": "first", "member": member}


@pytest.mark.slow
def test_another_process_makes_what_this_one_would_and_again_after_it_is_killed(runs: Runs) -> None:
    begin(runs.engine)
    fly(runs.engine)
    until(lambda: children("orbital_ops_env.curriculum.maker") != [])  # it is begun a moment after it is told
    (maker,) = children("orbital_ops_env.curriculum.maker")
    os.kill(maker, signal.SIGKILL)
    until(lambda: bool(runs.archive.events("first", "failed")))
    assert any("no generation could be made after 0" in each for each in runs.status("first").alarms)
    until(lambda: runs.archive.last_generation("first") == 1)
    assert not any("no generation" in each for each in runs.status("first").alarms)

    with closing(Database(IN_MEMORY)) as database:
        other = Engine(Archive(database))
        begin(other)
        fly(other)
        made = make(
            other.job("first", 0),
            lambda specs: [certificate(flight.by_name, PRESETS["eva"].bar, each) for each in specs],
        )
        other.add(made)
        assert other.archive.places("first", 1) == runs.archive.places("first", 1)


def test_a_process_that_cannot_be_begun_is_told_and_slots_go_on(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    begin(runs.engine)
    fly(runs.engine)
    until(lambda: any("no generation could be made after 0" in each for each in runs.status("first").alarms))
    runs.engine.assign("first", 3, 0)


LARGE = 96
"""Missions whose generation is more than a pipe holds."""


@pytest.mark.parametrize("missions", [3, LARGE])
@pytest.mark.parametrize("after_s", [0.0, 0.001, 0.01, 0.1])
def test_closing_waits_for_no_generation_and_leaves_no_process(after_s: float, missions: int) -> None:
    with closing(Runs(workers=1)) as runs:
        begin(runs.engine, missions=missions)
        fly(runs.engine, missions)
        time.sleep(after_s)
        runs.background.close()
        assert runs.archive.last_generation("first") == 0
    assert children("orbital_ops_env.curriculum.maker") == []


def test_a_process_that_is_killed_before_it_has_read_its_job_is_told_and_begun_anew(runs: Runs) -> None:
    begin(runs.engine, missions=LARGE)
    fly(runs.engine, LARGE)
    assert len(pickle.dumps(runs.engine.job("first", 0))) > 2**16
    until(lambda: children("orbital_ops_env.curriculum.maker") != [])
    (killed,) = children("orbital_ops_env.curriculum.maker")
    os.kill(killed, signal.SIGKILL)
    until(lambda: bool(runs.archive.events("first", "failed")))
    (failed,) = runs.archive.events("first", "failed")
    assert "the process that makes generations has ended" in failed["error"]
    assert not alive(killed)
    until(lambda: children("orbital_ops_env.curriculum.maker") != [])


@pytest.mark.slow
def test_a_maker_ends_with_its_parent_and_so_do_its_certifiers() -> None:
    maker = Maker(flight.by_name, workers=1)
    try:
        with closing(Database(IN_MEMORY)) as database:
            engine = Engine(Archive(database))
            begin(engine)
            fly(engine)
            maker.make(engine.job("first", 0))
        certifiers = children("multiprocessing.spawn")
    finally:
        maker.close()
    assert certifiers
    until(lambda: not any(map(alive, certifiers)), limit_s=20)


def children(what: str) -> list[int]:
    """Living descendants with some word in their command."""
    return [each.pid for each in psutil.Process().children(recursive=True) if what in command(each)]


def command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_an_episode_that_nobody_steps_any_more_has_failed_and_its_late_outcome_does_not_count(
    hasty: Runs,
) -> None:
    begin(hasty.engine, "uniform")
    environment = OrbitalOpsEnvironment(hasty)
    environment.reset(**slot(0))
    time.sleep(1.5)
    told = hasty.status("first")
    assert (told.flying, told.outcomes) == (0, 0)  # it counts from its first step
    environment.step(COAST)
    until(lambda: hasty.status("first").abandoned == 1)
    environment.step(END)
    (outcome,) = hasty.archive.database.rows("SELECT success, reason FROM outcome")
    assert tuple(outcome) == (0, "expired")
    environment.close()


def test_a_failure_of_the_simulation_is_nobodys_and_the_member_may_fly_again(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(runs.engine, "uniform")
    environment = OrbitalOpsEnvironment(runs)
    environment.reset(**slot(1))

    def broken(*_: object) -> None:
        raise RuntimeError("the integrator gave up")

    with monkeypatch.context() as patch:
        patch.setattr(Plant, "execute", broken)
        with pytest.raises(RuntimeError, match="the integrator gave up"):
            environment.step(COAST)
    environment.close()
    told = runs.status("first")
    assert (told.outcomes, told.released, told.flying) == (0, 1, 0)
    environment.reset(**slot(1))
    environment.step(END)
    assert runs.status("first").outcomes == 1


def test_a_refused_reset_leaves_the_episode_and_its_seat_as_they_were(runs: Runs) -> None:
    begin(runs.engine, "uniform")
    environment = OrbitalOpsEnvironment(runs)
    environment.reset(**slot(0))
    environment.step(COAST)
    with pytest.raises(ValueError, match="expected a slot from 0 on and a member from 0 to 1"):
        environment.reset(**slot(7))
    environment.step(END)
    (outcome,) = runs.archive.database.rows("SELECT reason FROM outcome")
    assert outcome["reason"] == "ended"


def test_an_environment_without_curricula_says_so() -> None:
    with pytest.raises(ValueError, match="has no curricula"):
        OrbitalOpsEnvironment().reset(**slot(0))


@pytest.mark.parametrize("workers", [0, -1])
def test_nobody_to_certify_is_refused_at_the_start(workers: int) -> None:
    with pytest.raises(ValueError, match="processes to certify missions: expected at least 1"):
        Runs(workers=workers)


def test_no_time_for_a_step_is_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match="a lease of 0 s for an episode: expected more than 0"):
        Runs(lease_s=0)
