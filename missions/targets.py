"""The closed list of names a mission may point at, and whether the craft could see them.

From level 2 up every pointing target is drawn from `CATALOGUE`, so that no fixed script can know it.
"""

import math
from typing import Final

import numpy as np

from orbital_ops_env.sim.constants import EARTH_RADIUS_M, EARTH_RATE_RAD_S, SUN_W_M2
from orbital_ops_env.sim.frames import Mat3, angle_between, cross, unit
from orbital_ops_env.sim.state import (
    PANEL_B,
    PAYLOAD_B,
    TRACKER_B,
    Nadir,
    Orbit,
    Payload,
    Power,
    Relay,
    Sensors,
    Site,
    Star,
    Sun,
    Target,
    elevations,
    target_frame,
)


def _star(right_ascension_h: float, declination_deg: float) -> Star:
    return Star(math.radians(15 * right_ascension_h), math.radians(declination_deg))


def _relay(longitude_deg: float) -> Relay:
    return Relay(math.radians(longitude_deg))


def _site(latitude_deg: float, longitude_deg: float) -> Site:
    return Site(math.radians(latitude_deg), math.radians(longitude_deg))


CATALOGUE: Final[dict[str, Target]] = {
    "SIRIUS": _star(6.752, -16.72),
    "CANOPUS": _star(6.399, -52.70),
    "ARCTURUS": _star(14.261, 19.18),
    "VEGA": _star(18.616, 38.78),
    "CAPELLA": _star(5.278, 46.00),
    "RIGEL": _star(5.242, -8.20),
    "PROCYON": _star(7.655, 5.22),
    "ACHERNAR": _star(1.629, -57.24),
    "HADAR": _star(14.064, -60.37),
    "ALTAIR": _star(19.846, 8.87),
    "ACRUX": _star(12.443, -63.10),
    "ANTARES": _star(16.490, -26.43),
    "SPICA": _star(13.420, -11.16),
    "POLLUX": _star(7.755, 28.03),
    "DENEB": _star(20.690, 45.28),
    "MIMOSA": _star(12.795, -59.69),
    "REGULUS": _star(10.140, 11.97),
    "ADHARA": _star(6.977, -28.97),
    "CASTOR": _star(7.577, 31.89),
    "SHAULA": _star(17.560, -37.10),
    "GACRUX": _star(12.519, -57.11),
    "ALNILAM": _star(5.604, -1.20),
    "ALIOTH": _star(12.900, 55.96),
    "DUBHE": _star(11.062, 61.75),
    "POLARIS": _star(2.530, 89.26),
    "MIRFAK": _star(3.405, 49.86),
    "ALPHARD": _star(9.460, -8.66),
    "HAMAL": _star(2.120, 23.46),
    "TDRSW": _relay(-171.0),
    "TDRSE": _relay(-41.0),
    "TDRSZ": _relay(85.0),
    "EDRS-A": _relay(9.0),
    "EDRS-C": _relay(31.0),
    "JDRS": _relay(90.75),
    "LUCH-A": _relay(95.0),
    "LUCH-V": _relay(-16.0),
}
"""Bright stars (right ascension and declination J2000; source: Hipparcos catalogue, rounded to 0.001 h and
0.01 deg, no proper motion) and data relays in geostationary orbit (longitude; source: operators' stated
slots)."""

STARS: Final = frozenset(name for name, target in CATALOGUE.items() if isinstance(target, Star))
STATIONS: Final[dict[str, Site]] = {
    "SVALBARD": _site(78.23, 15.39),
    "KIRUNA": _site(67.86, 20.96),
    "INUVIK": _site(68.32, -133.55),
    "FAIRBANKS": _site(64.86, -147.85),
    "WEILHEIM": _site(47.88, 11.09),
    "WALLOPS": _site(37.94, -75.46),
    "KATSUURA": _site(35.21, 140.30),
    "MASPALOMAS": _site(27.76, -15.63),
    "HAWAII": _site(19.01, -155.66),
    "BANGALORE": _site(13.03, 77.51),
    "KOUROU": _site(5.25, -52.80),
    "SINGAPORE": _site(1.40, 103.83),
    "MALINDI": _site(-2.99, 40.19),
    "CUIABA": _site(-15.56, -56.07),
    "HARTEBEEST": _site(-25.89, 27.69),
    "DONGARA": _site(-29.05, 115.35),
    "CORDOBA": _site(-31.52, -64.46),
    "HOBART": _site(-42.80, 147.44),
    "KERGUELEN": _site(-49.35, 70.26),
    "PUNTA": _site(-52.94, -70.85),
    "OHIGGINS": _site(-63.32, -57.90),
    "SYOWA": _site(-69.00, 39.58),
    "TROLL": _site(-72.01, 2.53),
    "MCMURDO": _site(-77.84, 166.67),
}
"""Ground stations (north latitude, east longitude; source: operators' stated places, rounded to 0.01 deg)."""
NAMED: Final[dict[str, Target]] = {**CATALOGUE, **STATIONS}
"""The closed list: everything that a mission may name."""

LONGEST_PASS_S: Final = 600.0
"""[s] in which any pass at 500 km is over."""
TRACKER_SPARE_RAD: Final = math.radians(1.0)
"""[rad] spare of a craft that knows its attitude."""
EARTH_LIMB_RAD: Final = math.radians(5.0)
"""[rad] a target this near to the Earth's limb counts as hidden."""


def visible(name: str, orbit: Orbit, t: float, sun_keep_out: float, spare: float = TRACKER_SPARE_RAD) -> bool:
    """Whether the craft can point at a target with the star tracker seeing.

    Args:
        name: A name of `CATALOGUE`.
        orbit: The orbit.
        t: [s] mission time.
        sun_keep_out: [rad] least angle between the target and the Sun.
        spare: [rad] how far the star tracker must stay from being blinded.
    """
    frame = target_frame(CATALOGUE[name], orbit, t)
    r, _ = orbit.state(t)
    earth = math.asin(EARTH_RADIUS_M / orbit.radius_m) + EARTH_LIMB_RAD
    payload = frame[int(np.argmax(PAYLOAD_B))]
    return (
        angle_between(payload, -unit(r)) > earth
        and angle_between(payload, orbit.sun_hat_N) > sun_keep_out
        and tracker_sees(frame, orbit, t, spare)
    )


def tracker_sees(frame: Mat3, orbit: Orbit, t: float, spare: float) -> bool:
    """Whether the star tracker of a craft at rest in a frame has a solution, with an angle to spare."""
    sensors = Sensors()
    boresight = frame[int(np.argmax(TRACKER_B))]
    r, _ = orbit.state(t)
    return (
        angle_between(boresight, orbit.sun_hat_N) > sensors.tracker_sun_rad + spare
        and angle_between(boresight, -unit(r)) > sensors.tracker_nadir_rad + spare
    )


def named(*names: str) -> tuple[tuple[str, Target], ...]:
    """The targets of a mission: those it names, `sun` and `nadir`."""
    chosen = {name: NAMED[name] for name in names if name in NAMED}
    return (*chosen.items(), ("sun", Sun()), ("nadir", Nadir()))


def passing(station: Site, orbit: Orbit, t: float, aside_rad: tuple[float, float]) -> float | None:
    """[rad] The Greenwich sidereal angle that lets a station lie beside the track at a mission time.

    Args:
        station: The station; its longitude and the angle decide where it is in N, its latitude is given.
        orbit: The orbit, whatever its sidereal angle.
        t: [s] mission time of the closest approach.
        aside_rad: [rad] least and greatest arc between the station and the point under the craft.

    Returns:
        None if no place of that latitude is so near.
    """
    r, v = orbit.state(t)
    up, across = unit(r), unit(cross(r, v))
    reach = math.hypot(up[2], across[2])
    sine = math.sin(station.latitude_rad) / reach
    if abs(sine) > 1:
        return None
    phase = math.atan2(up[2], across[2])  # reach sin(arc + phase) is the height over the equator
    arcs = (math.asin(sine) - phase, math.pi - math.asin(sine) - phase)
    turned = (math.remainder(arc, 2 * math.pi) for arc in arcs)
    arc = next((arc for arc in turned if aside_rad[0] <= abs(arc) <= aside_rad[1]), None)
    if arc is None:
        return None
    place = math.cos(arc) * up + math.sin(arc) * across
    return math.atan2(place[1], place[0]) - station.longitude_rad - EARTH_RATE_RAD_S * t


def contact(station: Site, orbit: Orbit, t: float) -> tuple[float, float]:
    """[s] First and last mission time of the pass over a station in whose middle the craft is at a time."""
    seconds = np.arange(t - LONGEST_PASS_S / 2, t + LONGEST_PASS_S / 2)
    seen = seconds[elevations(station, orbit, seconds) > Payload().mask_rad]
    return float(seen[0]), float(seen[-1])


def panel_w(frame: Mat3, orbit: Orbit, t: float) -> float:
    """[W] What the panel gives in an attitude at a mission time [s]."""
    power = Power()
    cosine = float(frame[int(np.argmax(PANEL_B))] @ orbit.sun_hat_N)
    full = SUN_W_M2 * power.panel_area_m2 * power.panel_efficiency
    return full * max(cosine, 0.0) if lit(orbit, t) else 0.0


def lit(orbit: Orbit, t: float) -> bool:
    """Whether the craft is outside the Earth's shadow, taken as a cylinder, at a mission time [s]."""
    r, _ = orbit.state(t)
    along = float(r @ orbit.sun_hat_N)
    return along > 0 or math.sqrt(float(r @ r) - along**2) > EARTH_RADIUS_M
