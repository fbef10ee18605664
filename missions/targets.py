"""The closed list of names a mission may point at, and whether the craft could see them.

From level 2 up every pointing target is drawn from `CATALOGUE`, so that no fixed script can know it.
"""

import math
from typing import Final

import numpy as np

from orbital_ops_env.sim.constants import EARTH_RADIUS_M
from orbital_ops_env.sim.frames import Mat3, angle_between, unit
from orbital_ops_env.sim.state import (
    PAYLOAD_B,
    TRACKER_B,
    Nadir,
    Orbit,
    Relay,
    Sensors,
    Star,
    Sun,
    Target,
    target_frame,
)


def _star(right_ascension_h: float, declination_deg: float) -> Star:
    return Star(math.radians(15 * right_ascension_h), math.radians(declination_deg))


def _relay(longitude_deg: float) -> Relay:
    return Relay(math.radians(longitude_deg))


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
    chosen = {name: CATALOGUE[name] for name in names}
    return (*chosen.items(), ("sun", Sun()), ("nadir", Nadir()))
