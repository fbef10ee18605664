"""Quiet windows on real flights: what breaks the rule, from which second on, and what does not."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from orbital_ops_env.client.render import render
from orbital_ops_env.commands import (
    ON_TIMES_S,
    AnyCommand,
    Check,
    Coast,
    Fire,
    Hold,
    SelectBranch,
    Slew,
)
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.rules import QuietWindow
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.sim.faults import Fault, StuckClosed, StuckOpen

OPENS_S, CLOSES_S = 150.0, 190.0
AXES = ("+x", "-x", "+y", "-y", "+z", "-z")
COAST = Coast(duration_s=300.0)
FIVE_SECONDS = SelectBranch(branch="A")
LEAST_G = 3e-3
"""[g] a second, above which a thruster has fired."""


def mission(*faults: Fault) -> MissionSpec:
    """One target, ten minutes, gas in plenty, and a quiet window as the only rule."""
    spec = generate("retarget-v0", 0, 0)
    (point,) = spec.directives
    return spec.model_copy(
        update={
            "start": replace(spec.start, propellant_kg=0.03),
            "directives": (point.model_copy(update={"dwell_s": 500.0, "closes_s": 600.0}),),
            "rules": (QuietWindow(opens_s=OPENS_S, closes_s=CLOSES_S),),
            "clock_s": 600.0,
            "turns": 100,
            "faults": faults,
        }
    )


def begin(spec: MissionSpec, at_s: float, commands: Sequence[AnyCommand] = ()) -> Episode:
    """A flight of some commands and then of coasts, up to a mission time in fives."""
    episode = Episode(spec, episode_seed=4)
    for command in commands:
        episode.step(command)
    while episode.snapshot.t < at_s:
        left = at_s - episode.snapshot.t
        episode.step(Coast(duration_s=30.0) if left >= 30.0 else FIVE_SECONDS)
    assert (episode.snapshot.t, episode.outcome) == (at_s, "ongoing")
    return episode


def broken_s(episode: Episode) -> list[float]:
    """[s] Mission times of the last command's rows at which the rule is broken."""
    truth = episode.snapshot.truth
    (quiet,) = episode.spec.rules
    return truth.t[quiet.broken(truth, episode.spec)].tolist()


def gas_g(episode: Episode) -> np.ndarray:
    """[g] what left the tank in each second of the last command."""
    return -1e3 * np.diff(episode.snapshot.truth.propellant_kg)


def test_the_brief_names_it_and_its_edges_end_commands_at_both_ends() -> None:
    episode = Episode(mission(), episode_seed=4)
    assert "HARD no firing in 150-190\n" in render(episode.observation)
    for edge in (OPENS_S, CLOSES_S):
        told = episode.step(COAST).telemetry
        assert (told.reason, told.time_s) == ("window_edge", edge)
    assert episode.step(COAST).telemetry.reason == "duration"


# -- what keeps the rule -----------------------------------------------------------------------


def test_a_coast_through_it_keeps_it_at_any_rate() -> None:
    turning = [Fire(axis="+x", on_time_s=5.0), Fire(axis="-z", on_time_s=5.0)]
    episode = begin(mission(), OPENS_S, turning)
    episode.step(COAST)
    assert episode.snapshot.t == CLOSES_S
    assert np.linalg.norm(episode.snapshot.truth.omega_BN_B[-1]) > math.radians(0.9)
    assert broken_s(episode) == []
    assert episode.outcome == "ongoing"


@pytest.mark.parametrize("deadband", [0.2, 1.0])
def test_a_hold_that_ends_at_its_opening_keeps_it(deadband: float) -> None:
    spec = mission()
    name = spec.targets[0][0]
    commands = [
        Slew(target=name, rate_deg_s=2.0),
        Hold(target=name, deadband_deg=deadband, duration_s=300.0),
    ]
    episode = begin(spec, OPENS_S, commands)
    assert episode.snapshot.reason == "window_edge"
    assert (gas_g(episode) > LEAST_G).any()
    episode.step(COAST)
    assert broken_s(episode) == []
    assert episode.outcome == "ongoing"


def test_what_three_valves_that_close_at_its_opening_still_owe_is_no_firing() -> None:
    """The branch of three thrusters that are stuck open is latched in the instant of the opening."""
    episode = begin(mission(*(StuckOpen(OPENS_S - 2.0, unit) for unit in (1, 3, 5))), OPENS_S - 5.0)
    episode.step(COAST)
    assert (episode.snapshot.t, gas_g(episode)[-1]) == (OPENS_S, pytest.approx(3 * 0.0392, abs=1e-3))
    episode.step(SelectBranch(branch="B"))
    assert LEAST_G / 2 < gas_g(episode)[0] < LEAST_G
    assert broken_s(episode) == []
    assert episode.outcome == "ongoing"


def test_a_pulse_before_its_opening_or_after_its_closing_keeps_it() -> None:
    episode = begin(mission(), OPENS_S - 5.0)
    episode.step(Fire(axis="+y", on_time_s=5.0))
    assert gas_g(episode) == pytest.approx(0.0392, abs=1e-3)
    episode.step(COAST)
    episode.step(Fire(axis="-y", on_time_s=5.0))
    assert episode.snapshot.began == CLOSES_S
    assert gas_g(episode)[0] > LEAST_G
    assert broken_s(episode) == []
    assert episode.outcome == "ongoing"


def test_a_command_to_a_thruster_that_stays_shut_keeps_it() -> None:
    episode = begin(mission(StuckClosed(0.0, 1)), OPENS_S)
    episode.step(Fire(axis="+x", on_time_s=5.0))
    assert episode.snapshot.sensed.valve_on_s[0] == pytest.approx(5.0)
    assert episode.outcome == "ongoing"


# -- what breaks it ----------------------------------------------------------------------------


@pytest.mark.parametrize("axis", AXES)
def test_the_shortest_pulse_in_it_breaks_it(axis: str) -> None:
    episode = begin(mission(), OPENS_S)
    episode.step(Fire.model_validate({"axis": axis, "on_time_s": min(ON_TIMES_S)}))
    assert broken_s(episode) == [OPENS_S + 1.0]
    assert episode.outcome == "failed"


@pytest.mark.parametrize("after_s", [0.0, 5.0, 20.0, 35.0])
@pytest.mark.parametrize("on_time_s", [0.5, 2.0, 5.0])
def test_firing_in_it_breaks_it_in_the_seconds_of_the_pulse(after_s: float, on_time_s: float) -> None:
    began = OPENS_S + after_s
    episode = begin(mission(), began)
    episode.step(Fire(axis="+z", on_time_s=on_time_s))
    assert broken_s(episode) == [began + 1.0 + n for n in range(math.ceil(on_time_s))]
    assert episode.observation.components["reward/process"] == 0.0
    assert episode.outcome == "failed"


@pytest.mark.parametrize("command", [Check(subsystem="thrusters"), Slew(target="nadir", rate_deg_s=0.5)])
def test_a_command_that_fires_by_itself_breaks_it(command: AnyCommand) -> None:
    episode = begin(mission(), OPENS_S)
    episode.step(command)
    assert broken_s(episode)[0] == OPENS_S + 1.0
    assert episode.outcome == "failed"


@pytest.mark.parametrize(
    ("onset_s", "first_s"),
    [
        (OPENS_S - 4.0, OPENS_S + 1.0),
        (OPENS_S, OPENS_S + 1.0),
        (OPENS_S + 13.0, OPENS_S + 14.0),
        (CLOSES_S - 1.0, CLOSES_S),
    ],
)
def test_a_thruster_that_sticks_open_breaks_it_from_its_first_second_in_it(
    onset_s: float, first_s: float
) -> None:
    episode = Episode(mission(StuckOpen(onset_s, 3)), episode_seed=4)
    while episode.outcome == "ongoing":
        episode.step(COAST)
    assert broken_s(episode)[0] == first_s
    assert episode.outcome == "failed"


def test_a_thruster_that_sticks_open_as_it_closes_does_not_break_it() -> None:
    episode = begin(mission(StuckOpen(CLOSES_S, 3)), OPENS_S)
    episode.step(COAST)
    assert episode.snapshot.t == CLOSES_S
    episode.step(COAST)
    assert gas_g(episode)[0] > LEAST_G
    assert broken_s(episode) == []
    assert episode.outcome == "ongoing"
