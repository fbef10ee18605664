"""What ends a command shortly before a hard rule is broken, whenever the rule comes into force."""

import math
from dataclasses import replace

import numpy as np
import pytest

from orbital_ops_env.commands import Coast
from orbital_ops_env.missions.catalog import FLAGSHIP, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.rules import BatteryFloor, FlightRule, RateCap, Reserve, SunKeepOut
from orbital_ops_env.server.episode import Episode, limits
from orbital_ops_env.sim.frames import mrp_from_dcm, triple
from orbital_ops_env.sim.state import Sun, target_frame

COAST = Coast(duration_s=1200.0)


def in_the_dark(*rules: FlightRule) -> MissionSpec:
    """A mission that begins with the panel away from the Sun and 60 % in the battery."""
    spec = generate("retarget-v0", 0, 3)
    facing = target_frame(Sun(), spec.start.orbit, 0.0)
    away = mrp_from_dcm(np.diag([-1.0, -1.0, 1.0]) @ facing)
    start = replace(spec.start, battery=0.6, sigma_BN=triple(away))
    directive = spec.directives[0].model_copy(update={"opens_s": 0.0, "closes_s": 1700.0})
    changed = {"start": start, "directives": (directive,), "rules": rules, "clock_s": 1700.0}
    return spec.model_copy(update=changed)


@pytest.mark.parametrize("from_s", [0.0, 100.0])
def test_a_command_ends_before_a_floor_that_comes_into_force_on_its_way(from_s: float) -> None:
    episode = Episode(in_the_dark(BatteryFloor(level=0.5, from_s=from_s, until_s=1500.0)), 1)
    episode.step(COAST)
    assert (episode.snapshot.reason, episode.snapshot.detail) == ("alarm", "battery")
    assert episode.snapshot.truth.battery[-1] == pytest.approx(0.51, abs=0.001)
    assert episode.outcome == "ongoing"


def test_a_floor_that_is_over_ends_nothing() -> None:
    episode = Episode(in_the_dark(BatteryFloor(level=0.5, until_s=100.0)), 1)
    episode.step(COAST)
    assert (episode.snapshot.reason, episode.snapshot.t) == ("duration", 1200.0)


def test_a_floor_that_is_broken_as_it_begins_ends_the_command_there() -> None:
    episode = Episode(in_the_dark(BatteryFloor(level=0.58, from_s=600.0)), 1)
    episode.step(COAST)
    assert (episode.snapshot.t, episode.snapshot.detail, episode.outcome) == (600.0, "battery", "failed")


def test_the_strictest_rule_in_force_counts_at_each_time() -> None:
    told = limits(
        (
            Reserve(propellant_kg=1e-3),
            Reserve(propellant_kg=3e-3, until_s=50.0),
            SunKeepOut(angle_rad=0.2, from_s=20.0),
            BatteryFloor(level=0.4, from_s=30.0, until_s=60.0),
            RateCap(rate_rad_s=0.01, from_s=40.0),
        )
    )
    assert [told.change_s(t) for t in (0.0, 20.0, 30.0, 51.0, 61.0)] == [20.0, 30.0, 51.0, 61.0, math.inf]
    seen = {t: told.at(t) for t in (0.0, 19.0, 20.0, 30.0, 50.0, 51.0, 60.0, 61.0, 9e9)}
    warned = math.radians(4.0)
    assert {t: each.sun_angle_rad for t, each in seen.items()} == {
        t: 0.0 if t < 20 else 0.2 + warned for t in seen
    }
    assert {t: each.propellant_kg for t, each in seen.items()} == pytest.approx(
        {t: 3.05e-3 if t <= 50 else 1.05e-3 for t in seen}
    )
    assert {t: each.battery for t, each in seen.items()} == pytest.approx(
        {t: 0.41 if 30 <= t <= 60 else 0.0 for t in seen}
    )


def test_limits_are_what_the_rules_of_a_long_mission_say_at_any_time() -> None:
    spec = generate(FLAGSHIP, 9, 1)
    told, times = limits(spec.rules), np.arange(0.0, spec.clock_s, 7.0)
    floors = [rule for rule in spec.rules if isinstance(rule, BatteryFloor)]
    expected = [np.where(rule.in_force(times), rule.level + 0.01, 0.0) for rule in floors]
    assert [told.at(t).battery for t in times.tolist()] == np.max(expected, axis=0).tolist()
