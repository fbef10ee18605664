"""What the spacecraft is, where it starts, and what is known of it at an instant.

Everything here is SI and radians, frozen, and free of Basilisk. `Snapshot` holds both truth and onboard
knowledge; only `server/observe.py` decides which of it becomes telemetry.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from orbital_ops_env.sim.constants import (
    EARTH_RADIUS_M,
    EARTH_RATE_RAD_S,
    GEO_RADIUS_M,
    MU_EARTH,
    OBLIQUITY_RAD,
    STANDARD_GRAVITY_M_S2,
)
from orbital_ops_env.sim.frames import (
    Mat3,
    Vec3,
    body_axis,
    celestial_direction,
    cross,
    nadir_frame,
    orbit_state,
    pointing_frame,
    scaled,
    site_frame,
    sun_direction,
    sun_frame,
    unit,
)

EndReason = Literal["start", "completed", "window_edge", "limit", "alarm", "duration", "refused"]
LimitName = Literal[
    "",
    "valve_current",
    "propellant",
    "sun_angle",
    "body_rate",
    "unexplained_rate",
    "innovation",
    "attitude_source",
    "battery",
]

PAYLOAD_B: Vec3 = np.array([0.0, 0.0, 1.0])
"""Payload boresight in B."""
PANEL_B: Vec3 = np.array([1.0, 0.0, 0.0])
"""Solar panel normal in B."""
TRACKER_B: Vec3 = np.array([0.0, 1.0, 0.0])
"""Star tracker boresight in B."""


@dataclass(frozen=True)
class Thrusters:
    """Twelve cold-gas thrusters: branch A is one half of each of six couples, B its mirror image."""

    thrust_n: float = 0.025
    """[N] Source: 10 mN to 10 N for cold gas, NASA Small Spacecraft State of the Art, propulsion."""
    isp_s: float = 65.0
    """[s] Source: 65 to 70 s for N2 and butane, same."""
    arm_m: float = 0.3
    """[m] lever arm of every thruster; our layout of a 60 kg body."""
    step_s: float = 0.1
    """[s] minimum on-time, equal to the integration step (pulses are sampled at integration stages)."""
    control_s: float = 0.5
    """[s] control period; coarser steps cost gas (measured: 1 deg hold 1.0 g at 0.5 s, 1.5 g at 1 s)."""
    schmitt_on: float = 0.75
    """[-] share of the minimum on-time at which a channel starts to fire; widens the limit cycle."""
    schmitt_off: float = 0.25
    """[-] share at which it stops."""
    positions_m: tuple[tuple[float, float, float], ...] = (
        (0.0, 0.0, 0.3),
        (0.0, 0.0, 0.3),
        (0.3, 0.0, 0.0),
        (0.3, 0.0, 0.0),
        (0.0, 0.3, 0.0),
        (0.0, 0.3, 0.0),
    )
    """[m] (6, 3) positions of branch A in B; branch B is at the negative of each."""
    directions: tuple[tuple[float, float, float], ...] = (
        (0.0, -1.0, 0.0),
        (0.0, 1.0, 0.0),
        (0.0, 0.0, -1.0),
        (0.0, 0.0, 1.0),
        (-1.0, 0.0, 0.0),
        (1.0, 0.0, 0.0),
    )
    """(6, 3) force directions of branch A in B: torques +x, -x, +y, -y, +z, -z; B is the negative."""

    @property
    def flow_kg_s(self) -> float:
        """[kg/s] propellant flow of one open valve."""
        return self.thrust_n / (self.isp_s * STANDARD_GRAVITY_M_S2)

    @property
    def torque_n_m(self) -> float:
        """[N m] torque of one thruster."""
        return self.thrust_n * self.arm_m


@dataclass(frozen=True)
class Tank:
    """Nitrogen behind a pressure regulator."""

    volume_m3: float = 0.002
    """[m^3] 10 g at 293 K stand at 4.3 bar."""
    unusable_kg: float = 1.2e-4
    """[kg] what the regulator cannot deliver; six valves use as much in one control period."""
    pressure_noise_pa: float = 800.0
    """[Pa] 1 sigma; 0.1 % of an 8 bar range, class of a miniature transducer."""
    temperature_noise_k: float = 0.1
    """[K] 1 sigma; class of a Pt1000 sensor."""
    time_constant_s: float = 7200.0
    """[s] of the tank's temperature towards its surroundings; engineering value for a wrapped tank."""
    sunlit_k: float = 296.0
    """[K] surroundings in sunlight; engineering value."""
    eclipse_k: float = 284.0
    """[K] surroundings in eclipse; engineering value."""


@dataclass(frozen=True)
class Sensors:
    """What the instruments can do."""

    gyro_noise_rad_s: float = math.radians(0.15 / 60 * math.sqrt(10))
    """[rad/s] 1 sigma at 10 Hz: 0.15 deg/sqrt(h). Source: STIM300 model of NavToolkit."""
    gyro_bias_rad_s: float = math.radians(3 / 3600)
    """[rad/s] 1 sigma left after the last calibration: 3 deg/h; STIM300: 0.3 stable, 10 over temperature."""
    tracker_noise_rad: float = math.radians(25 / 3600)
    """[rad] 1 sigma a axis: 25 arcsec. Source: NASA Small Spacecraft State of the Art, GNC."""
    tracker_rate_rad_s: float = math.radians(1.0)
    """[rad/s] blind above it. Source: slew tolerance of ST-16 class trackers, SmallSat 2012."""
    tracker_sun_rad: float = math.radians(35.0)
    """[rad] blind with the Sun nearer to the boresight; engineering value, 30 to 45 deg."""
    tracker_nadir_rad: float = math.radians(85.0)
    """[rad] blind with nadir nearer to the boresight: Earth radius 68 deg at 500 km and 17 deg of limb."""
    sun_noise_rad: float = math.radians(0.5)
    """[rad] 1 sigma a axis of the coarse Sun vector; engineering value for photodiode sets."""


@dataclass(frozen=True)
class Power:
    """Body-fixed panel, battery and bus."""

    panel_area_m2: float = 0.12
    """[m^2] sized for 45 W at normal incidence against a 26 W bus."""
    panel_efficiency: float = 0.28
    """[-] triple-junction class. Source: NASA Small Spacecraft State of the Art, power."""
    bus_w: float = 26.0
    """[W] constant load; engineering value for a 60 kg bus."""
    battery_j: float = 40.0 * 3600
    """[J] 40 Wh; engineering value."""
    low_fraction: float = 0.2
    """[-] alarm under it."""


@dataclass(frozen=True)
class Payload:
    """Imager, data storage and radio; all look along the payload axis."""

    steady_rad: float = math.radians(1.0)
    """[rad] the imager exposes under this pointing error,"""
    steady_rad_s: float = math.radians(0.1)
    """[rad/s] and under this rate error, both by the estimate; engineering values for a short exposure."""
    settle_s: float = 5.0
    """[s] for which it must be steady first; engineering value."""
    exposure_s: float = 20.0
    """[s] of one image; a break begins it anew."""
    image_bit: float = 60e6
    """[bit] of one image; engineering value for a compressed frame of some megapixels."""
    storage_bit: float = 180e6
    """[bit] three images: small, so that downlinks come between images."""
    imager_w: float = 8.0
    """[W] while it exposes; class of a small imager."""
    beam_rad: float = math.radians(10.0)
    """[rad] off the payload axis up to which the radio reaches; engineering value for a patch array."""
    downlink_bit_s: float = 1e6
    """[bit/s] S band. Source: 0.1 to 2 Mbit/s, NASA Small Spacecraft State of the Art, communications."""
    radio_w: float = 20.0
    """[W] while it sends; same source."""
    mask_rad: float = math.radians(10.0)
    """[rad] elevation of the craft, seen from a station, above which there is a link; common mask."""


@dataclass(frozen=True)
class Environment:
    """What disturbs the craft; an episode draws the strength of each around these."""

    dipole_a_m2: float = 0.1
    """[A m^2] residual magnetic dipole. Source: 0.1 to 1 A m^2 for small satellites, SMAD."""
    drag_area_m2: float = 0.25
    """[m^2] mean projected area."""
    drag_coefficient: float = 2.2
    """[-] Source: Vallado, Fundamentals of Astrodynamics and Applications."""
    drag_offset_m: float = 0.03
    """[m] centre of pressure from centre of mass; gives 5e-7 N m at mean density."""
    density_kg_m3: float = 1.2e-12
    """[kg/m^3] exponential atmosphere brought to this at 500 km. Source: mean of MSIS at F10.7 = 140."""
    scale_height_m: float = 60830.0
    """[m] at 500 km. Source: Vallado, table 8-4."""
    solar_area_m2: float = 0.25
    """[m^2] for the cannonball force of sunlight."""
    reflection: float = 1.3
    """[-] radiation coefficient. Source: SMAD."""


@dataclass(frozen=True)
class SpacecraftConfig:
    """The craft: parameters of the plant, one home for each number."""

    mass_kg: float = 60.0
    """[kg] dry."""
    inertia_kg_m2: tuple[float, float, float] = (4.0, 3.5, 2.5)
    """[kg m^2] (3,) principal moments about the centre of mass, body axes."""
    thrusters: Thrusters = field(default_factory=Thrusters)
    tank: Tank = field(default_factory=Tank)
    sensors: Sensors = field(default_factory=Sensors)
    power: Power = field(default_factory=Power)
    payload: Payload = field(default_factory=Payload)
    environment: Environment = field(default_factory=Environment)
    body_rate_rad_s: float = math.radians(12.0)
    """[rad/s] alarm above it: 20 % over the worst tip-off."""


@dataclass(frozen=True)
class Orbit:
    """A circular orbit and the sky at the start of the mission."""

    raan_rad: float
    """[rad] right ascension of the ascending node."""
    latitude_rad: float
    """[rad] argument of latitude at mission time 0."""
    sun_longitude_rad: float
    """[rad] ecliptic longitude of the Sun; held for the mission (it moves 0.04 deg in an hour)."""
    sidereal_rad: float
    """[rad] Greenwich sidereal angle at mission time 0."""
    altitude_m: float = 500e3
    """[m] above the equatorial radius."""
    inclination_rad: float = math.radians(97.4)
    """[rad] Sun-synchronous at 500 km. Source: Vallado, equation 9-41."""

    @property
    def radius_m(self) -> float:
        """[m] radius of the orbit."""
        return EARTH_RADIUS_M + self.altitude_m

    @property
    def rate_rad_s(self) -> float:
        """[rad/s] mean motion."""
        return math.sqrt(MU_EARTH / self.radius_m**3)

    @property
    def sun_hat_N(self) -> Vec3:
        """(3,) unit vector to the Sun in N."""
        return sun_direction(self.sun_longitude_rad, OBLIQUITY_RAD)

    def positions(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """[m] (n, 3) Kepler positions in N at mission times t [s] (n,)."""
        node, _ = orbit_state(self.radius_m, self.inclination_rad, self.raan_rad, 0.0, MU_EARTH)
        quarter, _ = orbit_state(self.radius_m, self.inclination_rad, self.raan_rad, math.pi / 2, MU_EARTH)
        latitude = (self.latitude_rad + self.rate_rad_s * t)[:, None]
        return np.cos(latitude) * node + np.sin(latitude) * quarter

    def state(self, t: float) -> tuple[Vec3, Vec3]:
        """Kepler position [m] and velocity [m/s] in N at mission time t [s]."""
        latitude = self.latitude_rad + self.rate_rad_s * t
        return orbit_state(self.radius_m, self.inclination_rad, self.raan_rad, latitude, MU_EARTH)


@dataclass(frozen=True)
class Star:
    """A fixed direction."""

    right_ascension_rad: float
    declination_rad: float
    kind: Literal["star"] = "star"


@dataclass(frozen=True)
class Relay:
    """A geostationary relay satellite."""

    longitude_rad: float
    """[rad] east longitude."""
    kind: Literal["relay"] = "relay"


@dataclass(frozen=True)
class Site:
    """A place on the ground, on a spherical Earth; a station for downlinks."""

    latitude_rad: float
    longitude_rad: float
    """[rad] east longitude."""
    kind: Literal["site"] = "site"


@dataclass(frozen=True)
class Sun:
    """The panel's target."""

    kind: Literal["sun"] = "sun"


@dataclass(frozen=True)
class Nadir:
    """The Earth's centre."""

    kind: Literal["nadir"] = "nadir"


Target = Star | Relay | Site | Sun | Nadir


def pointing_axis(target: Target) -> Vec3:
    """The body axis that points at a target: the panel at the Sun, the payload at all else."""
    return PANEL_B if isinstance(target, Sun) else PAYLOAD_B


def relay_position(relay: Relay, sidereal_rad: float, t: float) -> Vec3:
    """[m] (3,) position of a geostationary relay in N at mission time t [s]."""
    angle = relay.longitude_rad + sidereal_rad + EARTH_RATE_RAD_S * t
    return GEO_RADIUS_M * np.array([math.cos(angle), math.sin(angle), 0.0])


def site_positions(site: Site, sidereal_rad: float, t: NDArray[np.float64]) -> NDArray[np.float64]:
    """[m] (n, 3) positions of a place in N at mission times t [s] (n,)."""
    angle = site.longitude_rad + sidereal_rad + EARTH_RATE_RAD_S * t
    level = math.cos(site.latitude_rad)
    up = np.full_like(angle, math.sin(site.latitude_rad))
    return EARTH_RADIUS_M * np.stack([level * np.cos(angle), level * np.sin(angle), up], axis=1)


def passing_side(site: Site, orbit: Orbit, t: float) -> float:
    """[-] The side of the track where a place lies at its pass: 1 for that of the orbit normal, else -1.

    The pass is the one that comes, or has just been, so that the Earth may carry the place across the track
    until then.
    """
    r, v = orbit.state(t)
    normal = unit(cross(r, v))
    (place,) = site_positions(site, orbit.sidereal_rad, np.array([t]))
    ahead = math.atan2(float(place @ cross(normal, unit(r))), float(place @ unit(r)))
    if ahead < -math.pi / 2:
        ahead += 2 * math.pi
    (passed,) = site_positions(site, orbit.sidereal_rad, np.array([t + ahead / orbit.rate_rad_s]))
    return 1.0 if float(passed @ normal) >= 0 else -1.0


def elevations(site: Site, orbit: Orbit, t: NDArray[np.float64]) -> NDArray[np.float64]:
    """[rad] (n,) Elevation of the craft above a place's horizon at mission times t [s] (n,)."""
    place = site_positions(site, orbit.sidereal_rad, t)
    to_craft = orbit.positions(t) - place
    sine = np.sum(place * to_craft, axis=1) / (EARTH_RADIUS_M * np.linalg.norm(to_craft, axis=1))
    return np.arcsin(np.clip(sine, -1.0, 1.0))


def target_frame(target: Target, orbit: Orbit, t: float) -> Mat3:
    """dcm_RN of the attitude that points at a target at mission time t [s]."""
    r, v = orbit.state(t)
    match target:
        case Star():
            direction = celestial_direction(target.right_ascension_rad, target.declination_rad)
            return pointing_frame(direction, orbit.sun_hat_N)
        case Relay():
            to_relay = relay_position(target, orbit.sidereal_rad, t) - r
            return pointing_frame(unit(to_relay), orbit.sun_hat_N)
        case Site():
            to_site = site_positions(target, orbit.sidereal_rad, np.array([t]))[0] - r
            return site_frame(unit(to_site), scaled(passing_side(target, orbit, t), unit(cross(r, v))))
        case Sun():
            return sun_frame(orbit.sun_hat_N, unit(cross(r, v)))
        case Nadir():
            return nadir_frame(r, v)


def target_directions(target: Target, orbit: Orbit, t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit vectors in N from the craft to a target at mission times t [s] (n,): (n, 3), (1, 3) if fixed."""
    match target:
        case Star():
            fixed = celestial_direction(target.right_ascension_rad, target.declination_rad)
            return fixed[None]
        case Relay():
            angle = target.longitude_rad + orbit.sidereal_rad + EARTH_RATE_RAD_S * t
            relay = GEO_RADIUS_M * np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
            to_relay = relay - orbit.positions(t)
            return to_relay / np.linalg.norm(to_relay, axis=1, keepdims=True)
        case Site():
            to_site = site_positions(target, orbit.sidereal_rad, t) - orbit.positions(t)
            return to_site / np.linalg.norm(to_site, axis=1, keepdims=True)
        case Sun():
            return orbit.sun_hat_N[None]
        case Nadir():
            return -orbit.positions(t) / orbit.radius_m


@dataclass(frozen=True)
class Start:
    """The craft at mission time 0."""

    orbit: Orbit
    sigma_BN: tuple[float, float, float]
    """[-] (3,) attitude MRP of B relative to N."""
    omega_BN_B: tuple[float, float, float]
    """[rad/s] (3,) body rate in B."""
    propellant_kg: float
    """[kg] usable propellant."""
    attitude_known: bool = True
    """Whether the onboard estimate starts at the truth (a few arcmin) or is lost in space."""
    battery: float | None = None
    """[-] charge as a share of the capacity; None lets every episode draw its own."""


@dataclass(frozen=True)
class Limits:
    """What ends a command early, beside its own end."""

    from_s: float = 0.0
    """[s] mission time from which they count."""
    later: tuple["Limits", ...] = ()
    """What counts instead from later times on, soonest first."""

    edges_s: tuple[float, ...] = ()
    """[s] mission times at which control returns to the ground."""
    sun_angle_rad: float = 0.0
    """[rad] payload to Sun; 0 for none."""
    propellant_kg: float = 0.0
    """[kg] usable propellant counted on board."""
    battery: float = 0.0
    """[-] charge as a share of the capacity."""

    def at(self, t: float) -> "Limits":
        """Those that count at a mission time [s]."""
        return next((each for each in reversed(self.later) if each.from_s <= t), self)

    def change_s(self, t: float) -> float:
        """[s] Mission time of the next change after one."""
        return next((each.from_s for each in self.later if each.from_s > t), math.inf)


@dataclass(frozen=True)
class Track:
    """An attitude history at 1 Hz, either true or as estimated on board.

    Row 0 is the instant at which the command began.
    """

    t: NDArray[np.float64]
    """[s] (n,) mission time."""
    sigma_BN: NDArray[np.float64]
    """[-] (n, 3) attitude MRP."""
    omega_BN_B: NDArray[np.float64]
    """[rad/s] (n, 3) body rate."""
    propellant_kg: NDArray[np.float64]
    """[kg] (n,) usable propellant: by mass if true, counted from valve on-time if estimated."""
    on_time_s: NDArray[np.float64]
    """[s] (n,) valve on-time since mission time 0, all thrusters."""
    battery: NDArray[np.float64]
    """[-] (n,) charge as a share of the capacity."""
    imaging: NDArray[np.bool_]
    """(n,) whether the imager exposes."""
    sending: NDArray[np.bool_]
    """(n,) whether the radio sends data and a station receives them."""

    @cached_property
    def payload_N(self) -> NDArray[np.float64]:
        """[-] (n, 3) payload boresight in N."""
        return body_axis(self.sigma_BN, int(np.argmax(PAYLOAD_B)))

    @cached_property
    def panel_N(self) -> NDArray[np.float64]:
        """[-] (n, 3) solar panel normal in N."""
        return body_axis(self.sigma_BN, int(np.argmax(PANEL_B)))


@dataclass(frozen=True)
class Sensed:
    """One reading of every instrument and of the onboard software."""

    gyro_rad_s: Vec3
    """[rad/s] (3,) rate corrected by the bias estimate."""
    bias_rad_s: Vec3
    """[rad/s] (3,) gyro bias estimate."""
    sigma_BN: Vec3
    """[-] (3,) attitude estimate."""
    tracker_valid: bool
    tracker_age_s: float
    """[s] since the last valid star tracker solution, from mission time 0."""
    innovation_rad: float
    """[rad] star tracker against propagated attitude, at its last valid solution."""
    tracker_rate_rad_s: float | None
    """[rad/s] magnitude, differenced over the last two star tracker solutions; None unless both are valid."""
    sun_B: Vec3
    """[-] (3,) unit vector to the Sun from the Sun sensors; zeros in the dark."""
    pressure_pa: float
    temperature_k: float
    propellant_kg: float
    """[kg] usable, counted from valve on-time."""
    valve_on_s: NDArray[np.float64]
    """[s] (12,) commanded on-time of each thruster since mission time 0."""
    surplus_rate_rad_s: Vec3
    """[rad/s] (3,) rate change that the gyro saw beyond what the valves and the inertia explain, since
    the command began."""
    battery_fraction: float
    panel_w: float
    stored: float
    """[-] data in the storage as a share of its capacity."""
    branch: Literal["A", "B"]
    isolated: tuple[int, ...]
    source: Literal["star_tracker", "sun_sensors", "gyro"]


@dataclass(frozen=True)
class Snapshot:
    """The end of a command."""

    t: float
    """[s] mission time."""
    began: float
    """[s] mission time at which the command began."""
    reason: EndReason
    detail: str
    """Why a command was refused, or which limit ended it."""
    sensed: Sensed
    truth: Track
    """The true history since the command began."""
    estimate: Track
    """The same span as estimated on board."""
