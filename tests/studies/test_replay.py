"""The replay page: complete, true to the flight, and free of the network."""

import io
import math
import re
from dataclasses import replace
from html import escape
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from plotly.offline import get_plotlyjs
from rich.console import Console
from rich.live import Live

from orbital_ops_env.commands import Coast, EndMission, Slew
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.rules import QuietWindow
from orbital_ops_env.policies.idle import Idle
from orbital_ops_env.policies.rules import Rules
from orbital_ops_env.policies.script import Script
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.server.flight import Flight, fly
from orbital_ops_env.server.flight import replay as fly_again
from orbital_ops_env.sim.faults import GyroBias, StuckClosed, StuckOpen, TrackerOutage
from orbital_ops_env.studies import demo, replay
from orbital_ops_env.studies.record import Record, flowing_valves, knowledge_error_deg, open_valves, record
from orbital_ops_env.studies.timeline import figure
from orbital_ops_env.studies.words import damage, label, verdict

SEED = 0
CURVES = ("true", "estimated on board", "branch A", "branch B")
LOADS = re.compile(r"""(src|href)\s*=\s*["']?(https?:)?//|@import|url\(\s*["']?http""", re.IGNORECASE)


def traces(flown: Record) -> list[Any]:
    return list(figure(flown).data)


class Telling(Rules):
    """Follows the book and says why, in words that a page must not take for markup."""

    def act(self, view):
        command = super().act(view)
        self.rationale = f"turn {view.telemetry.turns_left}: error > limit & </script><b>late</b>"
        return command


def mission(**update: Any) -> MissionSpec:
    return generate("retarget-v0", 0, SEED).model_copy(update={"faults": ()} | update)


def named(flown: Record, name: str) -> list[Any]:
    return [trace for trace in traces(flown) if trace.name == name]


def words(flown: Record) -> dict[str, Any]:
    """What is written on the timeline, by text without markup."""
    return {re.sub(r"<.*?>", "", note.text): note for note in figure(flown).layout.annotations}


@pytest.fixture(scope="module")
def won() -> Flight:
    return fly(mission(), Telling(), SEED)


@pytest.fixture(scope="module")
def leaking() -> Record:
    """A thruster sticks open, and nobody does anything about it."""
    policy = Script((Coast(duration_s=600),) * 20)
    return record("leaking", fly(mission(faults=(StuckOpen(60, 3),), turns=20), policy, SEED))


@pytest.fixture(scope="module")
def astray(won: Flight) -> Record:
    """The gyro drifts, no star tracker corrects it, and the commands that won are sent."""
    faults = GyroBias(30, (0.0, math.radians(0.5), 0.0)), TrackerOutage(30)
    return record("astray", fly(mission(faults=faults), Script(won.commands), SEED))


@pytest.fixture(scope="module")
def noisy() -> Record:
    """A turn in a quiet window that opens after 20 s."""
    spec = mission()
    slew = Slew(target=spec.targets[0][0], rate_deg_s=1)
    rules = (*spec.rules, QuietWindow(opens_s=20, closes_s=80))
    return record("noisy", fly(mission(rules=rules), Script((slew,) * 8), SEED))


@pytest.fixture(scope="module")
def lost() -> Flight:
    return fly(mission(), Idle(), SEED)


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
            assert f"<td>{number} {escape(label(command))}<" in page


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


@pytest.mark.parametrize(
    ("outcome", "why"),
    [("ended", "Given up"), ("timed_out", "Out of time"), ("out_of_turns", "Out of commands")],
)
def test_a_mission_that_stops_short_says_what_it_ran_out_of(won, outcome, why):
    given_up = fly(won.spec, Script((Coast(duration_s=30), EndMission())), won.episode_seed)
    short = replace(given_up, outcome=outcome)
    assert verdict(record("rules", short)).startswith(f"{why} at ")


def test_a_broken_reserve_is_named_and_marked(won):
    reserve = next(rule for rule in won.spec.rules if rule.kind == "reserve")
    spent = reserve.model_copy(update={"propellant_kg": won.spec.start.propellant_kg - 1e-4})
    rules = tuple(spent if rule == reserve else rule for rule in won.spec.rules)
    spec = won.spec.model_copy(update={"rules": rules})
    flown = record("rules", replace(won, spec=spec, outcome="failed"))
    assert "Hard rule broken" in verdict(flown)
    assert "propellant never under" in verdict(flown)
    assert any(t.name == "rule broken" for t in traces(flown))


def test_every_rationale_stands_beside_its_command(page, won, records):
    hover = named(records[0], "command")[0].customdata
    for number, (command, why) in enumerate(zip(won.commands, won.rationales, strict=True), start=1):
        told = f'<td>{number} {escape(label(command))}<div class="muted">{escape(why)}</div></td>'
        assert told in page
        assert escape(why) in hover[number - 1].replace("<br>", " ")
    assert "</script><b>late" not in page


def test_a_command_without_a_rationale_has_no_empty_line(page, lost):
    assert set(lost.rationales) == {""}
    assert f"<td>1 {escape(label(lost.commands[0]))}</td>" in page


def test_what_broke_is_on_the_page_and_on_every_row_of_the_timeline(leaking):
    told = "thruster 3 stuck open at 60 s"
    assert f"(never told to the controller)</span></h2><ul><li>F1  {told}</li></ul>" in replay.page([leaking])
    drawn = figure(leaking)
    band, line = (next(s for s in drawn.layout.shapes if s.name == name) for name in ("broken", "fault"))
    assert (band.x0, band.x1) == (60, leaking.over_s)
    assert line.x0 == line.x1 == 60
    assert {(s.yref, s.y0, s.y1) for s in (band, line)} == {("paper", 0, 1)}
    assert words(leaking)[told].x == 60
    assert "F1" in drawn.layout.yaxis.ticktext


def test_a_fault_after_the_end_is_told_apart(won):
    fault = StuckClosed(math.floor(won.spec.clock_s) - 1, 5)
    late = won.spec.model_copy(update={"faults": (fault,)})
    flown = record("rules", replace(won, spec=late, faults=(fault,)))
    assert f"{damage(fault)} (after the end of rules at {flown.over_s:.0f} s)" in replay.page([flown])
    assert words(flown)[f"{damage(fault)}: after the end of the mission"].xanchor == "right"
    assert {s.name for s in figure(flown).layout.shapes} & {"broken", "fault"} == {"fault"}
    assert "stuck" not in verdict(flown)


def test_a_sound_craft_is_called_sound(page, records):
    assert "<h2>Nothing broke</h2>" in page
    assert not {s.name for s in figure(records[0]).layout.shapes} & {"broken", "fault"}
    assert not named(records[0], "gas truly flowing")


def test_a_stuck_valve_shows_against_what_was_commanded(leaking, records):
    sound = records[0]
    commanded = np.sum(list(open_valves(sound).values()), axis=0)
    assert flowing_valves(sound) == pytest.approx(commanded, abs=0.05)
    acts = (leaking.truth.t > 61) & (leaking.truth.t <= leaking.over_s)
    assert flowing_valves(leaking)[acts].mean() == pytest.approx(1.0, abs=0.1)
    assert np.max(list(open_valves(leaking).values())) == 0
    assert named(leaking, "gas truly flowing")[0].y.max() > 0.9


def test_the_dwell_stands_under_its_window(records):
    won, lost = records
    for number, directive in enumerate(won.flight.spec.directives):
        begin, end = won.held(number)[-1]
        assert end - begin == pytest.approx(directive.dwell_s, abs=1.0)
        assert end == won.done_at(number)
        strip = named(won, "goal held")[number]
        assert (strip.base[-1], strip.base[-1] + strip.x[-1]) == pytest.approx((begin, end))
        assert any(text.endswith(f"s, held {directive.dwell_s:.0f} s") for text in words(won))
    assert lost.held(0) == []
    assert any(text.endswith("s, held 0 s") for text in words(lost))


def test_a_late_window_is_labelled_inside_the_figure(won):
    first, clock = won.spec.directives[0], won.spec.clock_s
    late = first.model_copy(update={"opens_s": clock - 20, "closes_s": clock})
    spec = won.spec.model_copy(update={"directives": (late,)})
    flown = record("late", replace(won, spec=spec))
    bar = named(flown, "directive window")[0]
    assert (bar.base[0], bar.base[0] + bar.x[0]) == (clock - 20, clock)
    note = next(note for text, note in words(flown).items() if text.startswith("point at"))
    assert (note.x, note.xanchor) == (clock - 20, "right")


def test_fire_in_a_quiet_window_is_a_violation_that_shows(noisy):
    assert "Hard rule: nothing fires from 20 s to 80 s" in replay.page([noisy])
    assert words(noisy)["nothing fires from 20 s to 80 s"].x in (20, 80)
    fired = named(noisy, "fired in quiet window")[0]
    assert all(20 < t <= 80 for t in fired.x)
    assert fired.x[0] == noisy.over_s == named(noisy, "rule broken")[0].x[0]
    spans = [(min(area.x), max(area.x)) for area in named(noisy, "forbidden")]
    assert spans.count((20, 80)) == 2
    told = f"broken at {noisy.over_s:.0f} s: nothing fires from 20 s to 80 s, yet a thruster did in command 2"
    assert told in verdict(noisy)


def test_a_wrong_attitude_estimate_shows(astray, records):
    a, b = astray.truth.sigma_BN, astray.estimate.sigma_BN
    aa, bb, ab = (a * a).sum(1), (b * b).sum(1), (a * b).sum(1)
    scalar = ((1 - aa) * (1 - bb) + 4 * ab) / ((1 + aa) * (1 + bb))
    turn = np.degrees(2 * np.arccos(np.clip(np.abs(scalar), 0, 1)))
    error = knowledge_error_deg(astray)
    assert error == pytest.approx(turn, abs=1e-4)
    assert error[astray.truth.t <= 30].max() < 1
    assert error[astray.truth.t <= astray.over_s].max() > 30
    assert np.array_equal(named(astray, "estimate is wrong by")[0].y, error)
    assert knowledge_error_deg(records[0]).max() < 1


def test_the_verdict_names_what_broke_before_the_loss(leaking, astray):
    rows = (leaking.truth.t >= 60) & (leaking.truth.t <= leaking.over_s)
    spent = 1e3 * np.ptp(leaking.truth.propellant_kg[rows])
    told = "Broken before that: thruster 3 stuck open at 60 s; since then "
    assert f"{told}{spent:.2f} g more gas used than counted on board. " in verdict(leaking)
    worst = knowledge_error_deg(astray)[astray.truth.t <= astray.over_s].max()
    assert "gyro biased by 0.5°/s at 30 s and star tracker out at 30 s; since then" in verdict(astray)
    assert f"estimated attitude up to {worst:.3g}° wrong. " in verdict(astray)


def test_the_verdict_names_what_broke_before_the_success(won, records):
    early = won.spec.model_copy(update={"faults": (StuckClosed(1, 12),)})
    flown = record("rules", replace(won, spec=early, faults=early.faults))
    assert "in spite of thruster 12 stuck closed at 1 s" in verdict(flown)
    assert "in spite of" not in verdict(records[0])


def test_a_flight_over_the_wire_keeps_why_each_command_was_sent(won, monkeypatch):
    client = SimpleNamespace(sync=lambda: Wire(won.spec))
    monkeypatch.setattr(demo, "OrbitalOpsEnv", Mock(return_value=client))
    monkeypatch.setitem(demo.POLICIES, "telling", Telling)
    with Live(console=Console(file=io.StringIO())) as live:
        flown = demo.fly("nowhere", won.spec, SEED, "telling", live)
    assert flown.rationales == list(won.rationales)
    assert demo.refly(won.spec, SEED, flown).flight.rationales == won.rationales


class Wire:
    """A session that flies in process."""

    def __init__(self, spec: MissionSpec) -> None:
        self.episode = Episode(spec, SEED)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def reset(self, **_: object) -> SimpleNamespace:
        return SimpleNamespace(observation=self.episode.observation)

    def step(self, action: Any) -> SimpleNamespace:
        observation = self.episode.step(action.command)
        return SimpleNamespace(observation=observation, reward=observation.reward)


def test_a_score_that_the_wire_did_not_report_is_refused(won):
    told = demo.Flown(
        "rules", list(won.views), list(won.commands), won.return_, won.components, won.outcome,
        list(won.rationales),
    )  # fmt: skip
    assert demo.refly(won.spec, won.episode_seed, told).flight.return_ == won.return_
    with pytest.raises(demo.DemoError, match="in process"):
        demo.refly(won.spec, won.episode_seed, replace(told, return_=told.return_ + 1e-6))
