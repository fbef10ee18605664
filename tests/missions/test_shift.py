"""Shifts: passes, charges and images on one timeline that can be flown."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from orbital_ops_env.missions import shift
from orbital_ops_env.missions.catalog import LEVELS, generate
from orbital_ops_env.missions.directives import Charge, SendData, TakeImage
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.rules import BatteryFloor
from orbital_ops_env.missions.targets import CATALOGUE, NAMED, STARS, STATIONS, lit
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.policies.rules import Rules
from orbital_ops_env.server.flight import Flight, fly
from orbital_ops_env.sim.state import Payload, Power, Site, elevations

SEEDS = range(12)
KINDS = {"image": TakeImage, "downlink": SendData, "charge": Charge}


@pytest.fixture(scope="module")
def missions() -> list[MissionSpec]:
    """A dozen missions of every level."""
    return [generate(shift.FAMILY, level, seed) for level in LEVELS for seed in SEEDS]


@pytest.fixture(scope="module")
def flights() -> dict[str, list[Flight]]:
    """Missions of every level that carry no fault, flown by reference and by the book."""
    healthy = [next(s for s in (generate(shift.FAMILY, k, n) for n in SEEDS) if not s.faults) for k in LEVELS]
    return {
        name: [fly(spec, policy(), spec.seed) for spec in healthy]
        for name, policy in (("reference", Reference), ("rules", Rules))
    }


def of_kind(missions: list[MissionSpec], kind: type) -> Iterator[tuple[MissionSpec, SendData | Charge]]:
    """Missions with their directives of a kind."""
    for spec in missions:
        for directive in spec.directives:
            if isinstance(directive, kind):
                yield spec, directive  # type: ignore[misc]


def test_the_same_seed_gives_the_same_mission() -> None:
    assert generate(shift.FAMILY, 5, 3) == generate(shift.FAMILY, 5, 3) != generate(shift.FAMILY, 5, 4)


def test_a_mission_asks_for_the_tasks_of_its_level(missions: list[MissionSpec]) -> None:
    for spec in missions:
        asked = tuple(type(directive) for directive in spec.directives)
        assert asked == tuple(KINDS[task] for task in shift.LEVELS[spec.level].tasks)
        assert spec.turns == (8 if spec.level < 5 else 12)
        assert spec.clock_s <= 1800.0


def test_images_are_of_stars_and_every_name_is_of_the_closed_list(missions: list[MissionSpec]) -> None:
    images = {directive.target for _, directive in of_kind(missions, TakeImage)}
    assert images <= STARS
    assert len(images) > 15
    assert len(STARS) >= 24
    assert NAMED == {**CATALOGUE, **STATIONS}


def test_a_downlink_has_the_window_of_its_pass(missions: list[MissionSpec]) -> None:
    """The station sees the craft from the opening to the closing, and not long before or after."""
    found = list(of_kind(missions, SendData))
    assert len({directive.target for _, directive in found}) > 10
    for spec, directive in found:
        station = spec.target(directive.target)
        assert isinstance(station, Site)
        edges = np.array([-10.0, 0.0, 0.0, 10.0]) + np.repeat([directive.opens_s, directive.closes_s], 2)
        seen = elevations(station, spec.start.orbit, edges) > Payload().mask_rad
        assert seen.tolist() == [False, True, True, False]
        assert directive.closes_s - directive.opens_s > directive.dwell_s + 60.0


def test_a_downlink_asks_for_no_more_than_is_stored(missions: list[MissionSpec]) -> None:
    for spec in missions:
        stored_bit = 0.0
        for directive in spec.directives:
            if isinstance(directive, TakeImage):
                stored_bit += Payload().image_bit
                assert stored_bit <= Payload().storage_bit
            if isinstance(directive, SendData):
                assert directive.dwell_s * Payload().downlink_bit_s < stored_bit
                stored_bit = 0.0


def test_a_charge_is_in_sunlight_and_is_no_gift(missions: list[MissionSpec]) -> None:
    for spec, directive in of_kind(missions, Charge):
        assert isinstance(directive, Charge)
        assert directive.level == pytest.approx(round(100 * directive.level) / 100)
        assert lit(spec.start.orbit, directive.closes_s)
        assert spec.start.battery is not None
        if spec.directives[0] is directive:
            assert spec.start.battery < directive.level


def test_the_battery_has_a_floor_from_level_2_up(missions: list[MissionSpec]) -> None:
    for spec in missions:
        floors = [rule.level for rule in spec.rules if isinstance(rule, BatteryFloor)]
        assert len(floors) == (spec.level >= 2)
        assert spec.start.battery is not None
        assert all(Power().low_fraction < floor < spec.start.battery - 0.05 for floor in floors)


def test_faults_are_of_the_family_s_kinds(missions: list[MissionSpec]) -> None:
    kinds = [fault.kind for spec in missions for fault in spec.faults]
    assert {fault.kind for spec in missions if spec.level < 3 for fault in spec.faults} == set()
    assert set(kinds) <= set(shift.KINDS)
    assert len(set(kinds)) >= 5
    high = [spec for spec in missions if spec.level >= 3]
    assert len(kinds) / len(high) == pytest.approx(0.4, abs=3 * math.sqrt(0.24 / len(high)))


def test_most_can_be_flown_and_the_book_does_not_do(flights: dict[str, list[Flight]]) -> None:
    won = {name: sum(flight.succeeded for flight in flown) for name, flown in flights.items()}
    assert won["reference"] >= len(LEVELS) - 1
    assert won["rules"] < won["reference"]


def test_the_plan_tells_the_battery_that_is_flown(flights: dict[str, list[Flight]]) -> None:
    """A mission never ends far under the floor that its plan gave it."""
    for flight in flights["reference"]:
        floors = [rule.level for rule in flight.spec.rules if isinstance(rule, BatteryFloor)]
        least = min(float(snapshot.truth.battery.min()) for snapshot in flight.snapshots)
        assert all(least > floor - 0.01 for floor in floors)


def test_a_success_has_taken_and_sent_its_images(flights: dict[str, list[Flight]]) -> None:
    for flight in flights["reference"]:
        if flight.succeeded:
            asked = [type(directive) for directive in flight.spec.directives]
            exposed = sum(int(snapshot.truth.imaging[1:].sum()) for snapshot in flight.snapshots)
            sent = sum(int(snapshot.truth.sending[1:].sum()) for snapshot in flight.snapshots)
            assert exposed >= asked.count(TakeImage) * shift.SHOT_S
            assert sent >= asked.count(SendData) * shift.SEND_S
