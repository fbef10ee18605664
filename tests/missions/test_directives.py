"""What images, downlinks, charges and rules for a time ask of a history."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError
from scipy.spatial.transform import Rotation

from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.missions.directives import Charge, Directive, Point, SendData, TakeImage
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.rules import BatteryFloor, FlightRule, KeepOut, RateCap, Reserve
from orbital_ops_env.sim.frames import dcm_from_mrp, mrp_from_dcm
from orbital_ops_env.sim.state import Site, Track, target_frame

BASE = generate("retarget-v0", 1, 11)
NAME = next(directive.target for directive in BASE.directives if isinstance(directive, Point))
AIM: dict[str, Any] = {"opens_s": 0.0, "closes_s": 500.0, "dwell_s": 10.0, "turn_rad": 0.0}
POINTED: dict[str, Any] = AIM | {"target": NAME, "tolerance_rad": math.radians(2.0)}


def mission(*directives: Directive, rules: tuple[FlightRule, ...] = ()) -> MissionSpec:
    """The directives and rules, over targets that include a station."""
    targets = (*BASE.targets, ("STATION", Site(0.5, 0.5)))
    return BASE.model_copy(update={"directives": directives, "rules": rules, "targets": targets})


def history(seconds: int, target: str = NAME) -> Track:
    """At rest, pointing at a target, payload off, battery full."""
    t = np.arange(seconds + 1.0)
    sigma = [mrp_from_dcm(target_frame(BASE.target(target), BASE.start.orbit, s)) for s in t]
    off, ones = np.zeros(len(t), dtype=bool), np.ones(len(t))
    return Track(t, np.array(sigma), np.zeros((len(t), 3)), 0.01 * ones, 0 * ones, ones, off, off)


def tilted(track: Track, angle_rad: float) -> NDArray[np.float64]:
    """[-] (n, 3) attitude MRP, turned about an axis across panel and payload."""
    turn = Rotation.from_rotvec([0.0, angle_rad, 0.0]).as_matrix()
    return np.array([mrp_from_dcm(turn @ dcm_from_mrp(sigma)) for sigma in track.sigma_BN])


def done(spec: MissionSpec, track: Track) -> int:
    """Directives done after a history."""
    return spec.advance(spec.begin(), track).done


def test_pointing_without_the_imager_is_no_image() -> None:
    spec, still = mission(TakeImage(**POINTED)), history(30)
    assert done(spec, still) == 0
    assert done(spec, replace(still, imaging=~still.imaging)) == 1
    assert done(spec, replace(still, sending=~still.sending)) == 0


def test_pointing_without_the_radio_sends_nothing() -> None:
    spec, still = mission(SendData(**POINTED)), history(30)
    assert done(spec, still) == 0
    assert done(spec, replace(still, sending=~still.sending)) == 1


def test_an_image_of_something_else_does_not_count() -> None:
    elsewhere = history(30, "nadir")
    assert done(mission(TakeImage(**POINTED)), replace(elsewhere, imaging=~elsewhere.imaging)) == 0


def test_an_exposure_that_breaks_off_begins_anew() -> None:
    spec, still = mission(TakeImage(**POINTED)), history(30)
    broken = (still.t != 9.0) & (still.t < 19.0)
    assert done(spec, replace(still, imaging=broken)) == 0


@pytest.mark.parametrize(("level", "number"), [(0.6, 1), (0.61, 0)])
def test_a_charge_is_done_at_its_level(level: float, number: int) -> None:
    """A battery that rises from 0.5 to 0.6 in the first twenty seconds."""
    spec = mission(Charge(level=level, **AIM))
    still = history(40, "sun")
    rising = np.minimum(0.5 + 0.005 * still.t, 0.6)
    assert done(spec, replace(still, battery=rising)) == number


def test_a_charge_nears_its_level() -> None:
    spec = mission(Charge(level=0.8, **AIM))
    still = history(20, "sun")
    half_way = spec.advance(spec.begin(), replace(still, battery=0.6 + 0.005 * still.t))
    assert spec.completion(half_way) == pytest.approx(0.25)


def test_a_full_battery_is_no_charge_until_the_panel_is_at_the_sun() -> None:
    """The panel 14 and 16 deg off the Sun; then the craft turns to it."""
    spec = mission(Charge(level=0.5, **AIM))
    facing = history(40, "sun")
    off = [replace(facing, sigma_BN=tilted(facing, math.radians(angle))) for angle in (14.0, 16.0)]
    assert [done(spec, each) for each in (*off, history(40))] == [1, 0, 0]
    progress = spec.advance(spec.begin(), off[1])
    assert spec.completion(progress) == 0
    assert spec.advance(progress, replace(facing, t=facing.t + 40)).done == 1


def test_a_rule_counts_between_its_times() -> None:
    spec = mission(Point(**POINTED), rules=(RateCap(rate_rad_s=0.01, from_s=5.0, until_s=8.0),))
    still = history(12)
    fast = np.array([[0.02, 0.0, 0.0]])
    for begin, end, broken in ((0, 4, False), (5, 5, True), (8, 8, True), (9, 12, False)):
        spun = np.where(((still.t >= begin) & (still.t <= end))[:, None], fast, 0.0)
        progress = spec.advance(spec.begin(), replace(still, omega_BN_B=spun))
        assert (progress.broken == {0}) is broken
    times = np.array([4.0, 5.0, 8.0, 9.0])
    assert spec.rules[0].in_force(times).tolist() == [False, True, True, False]


def test_looking_near_a_forbidden_target_breaks_its_rule() -> None:
    """The payload looks at nadir; the rule is about nadir, or about where nadir is not."""
    near, still = math.radians(5.0), history(5, "nadir")
    for target, broken in (("nadir", {0}), (NAME, frozenset[int]())):
        rule = KeepOut(target=target, angle_rad=near)
        spec = mission(Point(**POINTED), rules=(rule,))
        assert spec.advance(spec.begin(), still).broken == broken


def test_a_battery_under_its_floor_breaks_the_rule() -> None:
    spec, still = mission(Point(**POINTED), rules=(BatteryFloor(level=0.4),)), history(5)
    for level, broken in ((0.4, frozenset[int]()), (0.399, {0})):
        progress = spec.advance(spec.begin(), replace(still, battery=level * np.ones(6)))
        assert progress.broken == broken


def test_the_reserve_of_a_mission_is_what_must_be_left_in_the_end() -> None:
    rules = (Reserve(propellant_kg=5e-3, until_s=60.0), Reserve(propellant_kg=1e-3))
    assert mission(Point(**POINTED), rules=rules).reserve_kg == 1e-3


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("rules", [{"kind": "rate_cap", "rate_rad_s": 0.1, "from_s": 9.0, "until_s": 9.0}]),
        ("rules", [{"kind": "rate_cap", "rate_rad_s": 0.1, "from_s": 0.5}]),
        ("rules", [{"kind": "battery", "level": 1.0}]),
        ("rules", [{"kind": "keep_out", "target": "NOWHERE", "angle_rad": 0.1}]),
        ("directives", [POINTED | {"kind": "image", "target": "NOWHERE"}]),
        ("directives", [POINTED | {"kind": "downlink"}]),
        ("directives", [AIM | {"kind": "charge", "level": 1.5}]),
    ],
)
def test_a_mission_that_makes_no_sense_is_refused(field: str, wrong: object) -> None:
    with pytest.raises(ValidationError):
        MissionSpec.model_validate(mission(Point(**POINTED)).model_dump() | {field: wrong})
