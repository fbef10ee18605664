"""The replay page: complete, true to the flight, and free of the network."""

import re
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
import pytest
from plotly.offline import get_plotlyjs

from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.policies.idle import Idle
from orbital_ops_env.policies.rules import Rules
from orbital_ops_env.server.flight import Flight, fly
from orbital_ops_env.server.flight import replay as fly_again
from orbital_ops_env.studies import demo, replay
from orbital_ops_env.studies.record import Record, label, open_valves, record, verdict
from orbital_ops_env.studies.timeline import figure

SEED = 0
CURVES = ("true", "estimated on board", "branch A", "branch B")
LOADS = re.compile(r"""(src|href)\s*=\s*["']?(https?:)?//|@import|url\(\s*["']?http""", re.IGNORECASE)


def traces(flown: Record) -> list[Any]:
    return list(figure(flown).data)


@pytest.fixture(scope="module")
def won() -> Flight:
    return fly(generate("retarget-v0", 0, SEED), Rules(), SEED)


@pytest.fixture(scope="module")
def lost() -> Flight:
    return fly(generate("retarget-v0", 0, SEED), Idle(), SEED)


@pytest.fixture(scope="module")
def records(won: Flight, lost: Flight) -> list[Record]:
    return [record("rules", won), record("idle", lost)]


@pytest.fixture(scope="module")
def page(records: list[Record]) -> str:
    return replay.page(records)


def test_the_page_loads_nothing_from_the_network(page):
    library = get_plotlyjs()
    assert library in page
    assert not re.search(r'src\s*=\s*"http', page)
    assert not LOADS.search(page.replace(library, ""))


def test_the_page_names_mission_outcomes_and_every_command(page, records):
    assert str(records[0].flight.spec) in page
    for flown in records:
        assert escape(verdict(flown)) in page
        for number, command in enumerate(flown.flight.commands, start=1):
            assert f"<td>{number} {escape(label(command))}</td>" in page


def test_every_curve_is_as_long_as_the_tracks(records):
    for flown in records:
        curves = [t for t in traces(flown) if t.name in CURVES]
        assert {t.name for t in curves} == set(CURVES)
        rows = 1 + sum(len(snapshot.truth.t) - 1 for snapshot in flown.flight.snapshots)
        assert len(flown.truth.t) == len(flown.estimate.t) == rows
        assert all(len(t.x) == len(t.y) == rows for t in curves)


def test_the_figure_holds_every_command_at_its_time(records):
    for flown in records:
        bars = next(t for t in traces(flown) if t.name == "command")
        ends = np.array(bars.base) + np.array(bars.x)
        assert ends == pytest.approx([s.t for s in flown.flight.snapshots[1:]])
        assert len(bars.text) == len(flown.flight.commands)


def test_flying_the_commands_again_gives_the_same_flight(won):
    again = fly_again(won.spec, won.commands, won.episode_seed)
    assert again.rewards == won.rewards
    assert again.components == won.components
    assert again.outcome == won.outcome
    assert np.array_equal(again.snapshots[-1].truth.sigma_BN, won.snapshots[-1].truth.sigma_BN)


def test_history_is_in_one_piece_and_judged_like_the_flight(records):
    for flown in records:
        assert np.all(np.diff(flown.truth.t) > 0)
        whole = flown.flight.spec.begin()
        for snapshot in flown.flight.snapshots:
            whole = flown.flight.spec.advance(whole, snapshot.truth)
        assert flown.progress[-1] == whole
        assert len(flown.progress) == len(flown.truth.t)


def test_valve_activity_adds_up_to_the_on_time(records):
    truth = records[0].truth
    mean = np.sum(list(open_valves(records[0]).values()), axis=0)
    spent = np.sum(mean[1:] * np.diff(truth.t))
    assert spent == pytest.approx(truth.on_time_s[-1] - truth.on_time_s[0])


def test_verdicts_say_why(records):
    won, lost = map(verdict, records)
    assert "Every directive done" in won
    assert "D1 (point at" in lost
    assert "window closed" in lost


def test_a_broken_reserve_is_named_and_marked(won):
    reserve = next(rule for rule in won.spec.rules if rule.kind == "reserve")
    spent = reserve.model_copy(update={"propellant_kg": won.spec.start.propellant_kg - 1e-4})
    rules = tuple(spent if rule == reserve else rule for rule in won.spec.rules)
    spec = won.spec.model_copy(update={"rules": rules})
    flown = record("rules", replace(won, spec=spec, outcome="failed"))
    assert "Hard rule broken" in verdict(flown)
    assert "propellant never under" in verdict(flown)
    assert any(t.name == "rule broken" for t in traces(flown))


def test_a_score_that_the_wire_did_not_report_is_refused(won):
    told = demo.Flown("rules", list(won.views), list(won.commands), won.return_, won.components, won.outcome)
    assert demo.refly(won.spec, won.episode_seed, told).flight.return_ == won.return_
    with pytest.raises(demo.DemoError, match="in process"):
        demo.refly(won.spec, won.episode_seed, replace(told, return_=told.return_ + 1e-6))
