"""Imager, storage, radio, stations and the power that they take, against hand calculations."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.commands import AnyCommand, Coast, Downlink, Hold, Image, Slew
from orbital_ops_env.sim.constants import EARTH_RADIUS_M, EARTH_RATE_RAD_S, MU_EARTH, SUN_W_M2
from orbital_ops_env.sim.frames import (
    Vec3,
    angle_between,
    angles_between,
    mrp_from_dcm,
    relative,
    rotation_angle,
    triple,
    unit,
)
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import (
    TRACKER_B,
    Limits,
    Orbit,
    Payload,
    Power,
    Site,
    Snapshot,
    SpacecraftConfig,
    Star,
    Start,
    Sun,
    Target,
    elevations,
    target_directions,
    target_frame,
)

Build = Callable[..., Plant]
CLOSEST_S = 700.0
"""[s] mission time at which the craft passes the station."""
ORBIT = Orbit(raan_rad=1.02, latitude_rad=0.0, sun_longitude_rad=1.0, sidereal_rad=0.2)
PAYLOAD, POWER = Payload(), Power()
SECONDS = np.arange(0.0, 1400.0)


def beside(orbit: Orbit, t: float, aside_deg: float) -> Site:
    """The place that the craft passes at a time, some degrees of arc beside its track."""
    r, v = orbit.state(t)
    turned = math.radians(aside_deg)
    place = math.cos(turned) * unit(r) + math.sin(turned) * unit(np.cross(r, v))
    angle = math.atan2(place[1], place[0]) - orbit.sidereal_rad - EARTH_RATE_RAD_S * t
    return Site(math.asin(place[2]), angle)


STATION, FAR = beside(ORBIT, CLOSEST_S, 3.0), beside(ORBIT, CLOSEST_S + 2800.0, 0.0)
TARGETS: Mapping[str, Target] = {"STATION": STATION, "FAR": FAR, "star": Star(2.5, 0.3), "sun": Sun()}


def ready(target: str, t: float = 0.0, orbit: Orbit = ORBIT, **options: Any) -> Plant:
    """A craft at rest that points at a target as the mission begins, on an orbit moved on by a time [s]."""
    moved = replace(
        orbit,
        latitude_rad=orbit.latitude_rad + orbit.rate_rad_s * t,
        sidereal_rad=orbit.sidereal_rad + EARTH_RATE_RAD_S * t,
    )
    sigma = triple(mrp_from_dcm(target_frame(TARGETS[target], moved, 0.0)))
    return Plant(Start(moved, sigma, (0.0, 0.0, 0.0), 8e-3), TARGETS, 3, **options)


def in_view(site: Site) -> Vec3:
    """[s] (n,) mission times at which a station sees the craft."""
    return SECONDS[elevations(site, ORBIT, SECONDS) > PAYLOAD.mask_rad]


# -- images ------------------------------------------------------------------------------------


def test_an_image_takes_its_exposure_and_fills_its_share_of_the_storage() -> None:
    taken = ready("star").execute(Image(target="star"))
    assert taken.reason == "completed"
    assert taken.truth.imaging.sum() == PAYLOAD.exposure_s
    assert taken.sensed.stored == pytest.approx(PAYLOAD.image_bit / PAYLOAD.storage_bit)
    least = PAYLOAD.settle_s + PAYLOAD.exposure_s
    assert least < taken.t < least + 3.0


def test_the_imager_waits_until_the_craft_is_steady() -> None:
    plant = ready("star")
    plant.execute(Slew(target="sun", rate_deg_s=0.5), Limits(edges_s=(20.0,)))
    taken = plant.execute(Image(target="star"))
    assert taken.reason == "completed"
    off = angles_between(taken.truth.payload_N, target_directions(TARGETS["star"], ORBIT, taken.truth.t))
    assert math.degrees(off[0]) > 1.0
    assert math.degrees(off[taken.truth.imaging].max()) < 1.2  # a degree by the estimate
    assert taken.truth.imaging.sum() == PAYLOAD.exposure_s


def test_an_exposure_that_is_cut_short_is_no_image() -> None:
    plant = ready("star")
    cut = plant.execute(Image(target="star"), Limits(edges_s=(12.0,)))
    assert cut.reason == "window_edge"
    assert 0 < cut.truth.imaging.sum() < PAYLOAD.exposure_s
    again = plant.execute(Image(target="star"))
    assert again.truth.imaging[1:].sum() == PAYLOAD.exposure_s


def test_a_full_storage_refuses_and_another_image_fits_after_a_downlink() -> None:
    plant = ready("STATION", CLOSEST_S - 180.0)
    for _ in range(round(PAYLOAD.storage_bit / PAYLOAD.image_bit)):
        assert plant.execute(Image(target="STATION")).reason == "completed"
    refused = plant.execute(Image(target="STATION"))
    assert (refused.reason, refused.detail) == ("refused", "storage full, downlink first")
    emptied = plant.execute(Downlink(station="STATION"))
    assert emptied.sensed.stored == 0.0
    assert plant.execute(Image(target="STATION")).reason == "completed"


# -- downlinks ---------------------------------------------------------------------------------


def test_a_downlink_sends_what_is_stored_at_its_rate() -> None:
    plant = ready("STATION", CLOSEST_S - 100.0)
    plant.execute(Image(target="STATION"))
    sent = plant.execute(Downlink(station="STATION"))
    assert sent.reason == "completed"
    assert sent.truth.sending.sum() == PAYLOAD.image_bit / PAYLOAD.downlink_bit_s
    assert sent.sensed.stored == 0.0


def test_the_link_is_there_while_the_station_sees_the_craft() -> None:
    """Basilisk's access against elevations by hand."""
    plant, view = ready("star"), in_view(STATION)
    plant.execute(Image(target="star"))
    driver = plant._vehicle.payload.memory
    driver.mode, driver.beam = 2, math.pi  # a radio that sends in all directions
    plant._vehicle.radio.nodeBaudRate = -1.0  # so slowly that the storage is never empty
    rows = np.concatenate([plant._vehicle.advance(float(t)) for t in range(30, 1400, 10)])
    seen = rows[rows[:, 28] > 0, 0]
    assert abs(seen[0] - view[0]) <= 2.0  # an access of the tick before, and a first tick that asks for data
    assert abs(seen[-1] - view[-1]) <= 1.0
    assert len(seen) == pytest.approx(len(view), abs=3)


def test_a_pass_lasts_as_long_as_geometry_says() -> None:
    """Over a station at rest: the craft is above the mask for 2 lambda / n."""
    overhead, still = beside(ORBIT, CLOSEST_S, 0.0), 1.0 - EARTH_RATE_RAD_S / ORBIT.rate_rad_s
    ratio = EARTH_RADIUS_M / ORBIT.radius_m
    half = math.acos(ratio * math.cos(PAYLOAD.mask_rad)) - PAYLOAD.mask_rad
    by_hand = 2 * half / ORBIT.rate_rad_s
    assert by_hand == pytest.approx(443.0, abs=2.0)
    assert still * by_hand < len(in_view(overhead)) < by_hand / still


@pytest.mark.parametrize(
    ("prepare", "command", "why"),
    [
        ((), Downlink(station="STATION"), "nothing stored, image first"),
        ((Image(target="star"),), Downlink(station="STATION"), "STATION is not in view"),
        ((), Downlink(station="star"), "not a station, expected one of STATION, FAR"),
        ((), Downlink(station="moon"), "no such target, expected one of STATION, FAR, star, sun"),
        ((), Image(target="moon"), "no such target, expected one of STATION, FAR, star, sun"),
        ((), Image(target="sun"), "deg away, slew first"),
    ],
)
def test_what_cannot_be_done_is_refused_and_says_why(
    prepare: tuple[AnyCommand, ...], command: AnyCommand, why: str
) -> None:
    plant = ready("star")
    for each in prepare:
        plant.execute(each)
    refused = plant.execute(command)
    assert refused.reason == "refused"
    assert why in refused.detail
    assert not refused.truth.imaging.any()
    assert not refused.truth.sending.any()


def test_a_station_that_is_in_view_but_far_from_the_beam_is_refused() -> None:
    plant = ready("star", CLOSEST_S - 60.0)
    plant.execute(Image(target="star"))
    refused = plant.execute(Downlink(station="STATION"))
    assert refused.reason == "refused"
    assert "deg away, slew first" in refused.detail


def test_the_craft_follows_a_station_across_the_sky_with_its_tracker_on_the_stars() -> None:
    view = in_view(STATION)
    plant = ready("STATION", float(view[0]))
    duration = float(len(view) - 10)
    flown: list[Snapshot] = []
    while plant.t < duration:
        flown.append(plant.execute(Hold(target="STATION", deadband_deg=1.0, duration_s=120.0)))
    orbit = plant._pilot._orbit
    for each in flown[1:]:  # the first catches up with a station that moves already
        direction = target_directions(STATION, orbit, each.truth.t)
        assert math.degrees(angles_between(each.truth.payload_N, direction).max()) < 4.5
    assert all(each.sensed.tracker_valid for each in flown)


@given(st.floats(-0.3, 0.3), st.floats(0, 6), st.floats(0, 6))
def test_a_site_frame_looks_at_the_site_with_its_tracker_off_the_earth(
    aside: float, raan: float, latitude: float
) -> None:
    if abs(aside) < 0.02:
        return
    orbit = replace(ORBIT, raan_rad=raan, latitude_rad=latitude)
    site = beside(orbit, 0.0, math.degrees(aside))
    frame = target_frame(site, orbit, 0.0)
    direction = target_directions(site, orbit, np.zeros(1))[0]
    assert frame @ frame.T == pytest.approx(np.eye(3), abs=1e-12)
    assert frame[2] == pytest.approx(direction, abs=1e-12)
    nadir = -unit(orbit.state(0.0)[0])
    assert angle_between(frame[int(np.argmax(TRACKER_B))], nadir) > math.radians(90.0)


@given(st.floats(-8, 8), st.floats(0, 6), st.floats(0, 6))
def test_the_frame_of_a_station_that_the_earth_carries_across_the_track_does_not_flip(
    aside: float, raan: float, latitude: float
) -> None:
    if abs(aside) < 2.5:
        return
    orbit = replace(ORBIT, raan_rad=raan, latitude_rad=latitude)
    site, middle = beside(orbit, 1500.0, aside), 1500.0
    frames = [target_frame(site, orbit, t) for t in np.arange(0.0, middle + 240.0, 10.0)]
    turns = [rotation_angle(relative(*pair)) for pair in pairwise(frames)]
    assert math.degrees(max(turns)) / 10.0 < 0.9


# -- power -------------------------------------------------------------------------------------


def charge_j(snapshot: Snapshot) -> Vec3:
    """[J] (n,) in the battery."""
    return snapshot.truth.battery * POWER.battery_j


def test_the_battery_balances_panel_and_bus_over_an_orbit() -> None:
    """Held at the Sun for an orbit: panel times the lit share, less the bus."""
    period = 2 * math.pi * math.sqrt(ORBIT.radius_m**3 / MU_EARTH)
    roomy = SpacecraftConfig(power=replace(POWER, battery_j=20 * POWER.battery_j))
    plant = ready("sun", craft=roomy)
    flown = []
    while plant.t < period:
        flown.append(plant.execute(Hold(target="sun", deadband_deg=1.0, duration_s=1200.0)))
    took = flown[-1].truth.t[-1] - flown[0].truth.t[0]
    stored = (flown[-1].truth.battery[-1] - flown[0].truth.battery[0]) * roomy.power.battery_j
    lit_s = sum(float(np.sum(_lit(plant, each))) for each in flown)
    by_hand = SUN_W_M2 * POWER.panel_area_m2 * POWER.panel_efficiency * lit_s - POWER.bus_w * took
    assert stored == pytest.approx(by_hand, rel=0.01)


def _lit(plant: Plant, snapshot: Snapshot) -> Vec3:
    """Share of the Sun that is not behind the Earth, by a cylindrical shadow, once a second."""
    t = snapshot.truth.t[1:]
    r = plant._pilot._orbit.positions(t)
    along = r @ ORBIT.sun_hat_N
    aside = np.linalg.norm(r - along[:, None] * ORBIT.sun_hat_N, axis=1)
    return ((along > 0) | (aside > EARTH_RADIUS_M)).astype(float)


@pytest.mark.parametrize(
    ("command", "on", "watt"),
    [
        (Image(target="STATION"), "imaging", PAYLOAD.imager_w),
        (Downlink(station="STATION"), "sending", PAYLOAD.radio_w),
    ],
)
def test_imager_and_radio_take_their_power_while_they_are_on(
    command: AnyCommand, on: str, watt: float
) -> None:
    dark = replace(ORBIT, sun_longitude_rad=ORBIT.sun_longitude_rad + math.pi)
    plant = ready("STATION", CLOSEST_S - 100.0, dark)
    plant.execute(Image(target="STATION"))
    flown = plant.execute(command)
    after = plant.execute(Coast(duration_s=30.0))
    used_w, switched = -np.diff(charge_j(flown)), getattr(flown.truth, on)[1:]
    assert used_w[switched] == pytest.approx(POWER.bus_w + watt, abs=0.01)
    assert -np.diff(charge_j(after))[1:] == pytest.approx(POWER.bus_w, abs=0.01)


def test_a_craft_without_stations_images_and_cannot_downlink(build: Build) -> None:
    plant = build()
    assert plant.execute(Image(target="nadir")).reason == "completed"
    refused = plant.execute(Downlink(station="nadir"))
    assert (refused.reason, refused.detail) == ("refused", "not a station, expected one of none")


def test_nothing_is_ever_refused_as_not_installed(build: Build) -> None:
    for command in (Image(target="nadir"), Downlink(station="nadir"), Coast(duration_s=30.0)):
        assert "installed" not in build().execute(command).detail
