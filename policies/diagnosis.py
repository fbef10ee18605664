"""What is broken, from what the text shows, and what to do about it.

Each fault has a signature in two channels or more; a finding needs all of them, and a doubt costs a `check`.

    stuck open     a valve draws current without a command; the rate changes along the thruster's torque
    stuck closed   the rate does not change as commanded; the tank keeps the gas that was counted
    gyro bias      the star tracker contradicts the gyro, in attitude (`inn`) and in rate (`dgyro`)
    leak           the tank loses gas that neither valves nor an unexplained rate account for
    panel          at the Sun, the panel gives less than it should
    star tracker   blind at rest although neither Sun nor Earth is in its way
"""

from dataclasses import dataclass, field
from typing import Final

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import (
    THRUSTER_FAULTS,
    AnyCommand,
    CalibrateGyro,
    Check,
    Coast,
    Detumble,
    FaultKind,
    ReportFault,
    SelectAttitudeSource,
    SelectBranch,
)
from orbital_ops_env.models import Telemetry

BIASED_INN_DEG: Final = 0.2
"""[deg] innovation that stands with a biased gyro; 0.06 at most in health."""
BIASED_DGYRO_DEG_S: Final = 0.1
SLOW_DEG_S: Final = 0.9
"""[deg/s] under which a star tracker sees, if nothing is in its way,"""
SUN_DEG, NADIR_DEG = 37.0, 87.0
"""[deg] which is the Sun or the Earth nearer than this to its boresight."""
FRESH_S: Final = 5.0
"""[s] age of a star tracker solution that is no outage."""
CALIBRATION_DEG_S: Final = 0.45
"""[deg/s] fastest true rate at which a calibration begins."""
SHARP_DEG_S: Final = 0.25
"""[deg/s] unexplained rate change that tank gauge and valve count can be weighed against."""
GAS_G_S_DEG: Final = 0.29
"""[g/(deg/s)] gas that a thruster takes for a rate change, mean of the axes."""
PULSE_DEG_S: Final = 0.035
"""[deg/s] missing after a test pulse of half a second, which gives 0.05 to 0.09."""
UNITS_A: Final = 6
"""Thrusters of branch A; the others are of branch B."""
DRIFTED_DEG: Final = 6.0
"""[deg] of Sun sensors against the estimate: the gyro has carried it away."""
STEADY_DEG_S: Final = 0.3
"""[deg/s] above which the coupling of the axes looks like a missing pulse."""
LEAK_G: Final = 0.08
"""[g] that the tank lacks against the count, above which it leaks; four sigma of the gauge,"""
LEAK_SHARE: Final = 0.6
"""[-] unless the unexplained rate tells of a thruster that took that share of it."""
LEAK_G_S: Final = 5e-4
"""[g/s] that a leak goes on to take."""
PANEL_W: Final = 45.7
"""[W] of a healthy panel in the Sun,"""
PANEL_SHARE: Final = 0.96
"""[-] and the share of it under which a part is lost,"""
PANEL_DEG: Final = 5.0
"""[deg] within so much of the Sun."""
LOOKS_AROUND: Final = 1
"""Times to look what is in the star tracker's way."""
LOOKS: Final = 4
"""Times to drift on and look for stars before a calibration."""


@dataclass(frozen=True)
class Finding:
    """A diagnosis."""

    kind: FaultKind
    unit: int | None = None

    @property
    def report(self) -> ReportFault:
        """It, as a telecommand."""
        return ReportFault(kind=self.kind, unit=self.unit)


@dataclass
class Diagnosis:
    """Watches a flight; says what to send next while something is wrong, and why."""

    finding: Finding | None = None
    reported: bool = False
    _gauge_g: list[float] = field(default_factory=list[float])
    """Tank minus counted gas so far, in health."""
    _seen: bool = False
    """Whether the star tracker has seen in this flight."""
    _cleared: int = 0
    """Looks at a blind star tracker that found its view blocked."""
    _looks: int = 0
    """Times that it drifted on for a star."""
    _pulsed: bool = False
    """Whether test pulses were fired."""
    _switched: bool = False
    """Whether the other branch was taken."""
    _lost_g: float = 0.0
    _doubted: bool = False
    """Whether the gyro is under suspicion, with no star in view to prove it."""

    def act(self, view: PolicyView) -> tuple[AnyCommand, str] | None:
        """The next command and why; None while there is nothing to do about a fault."""
        now = view.telemetry
        if self.finding is None and _dimmed(view):
            self.finding = Finding("panel")
        chosen = self._respond(now) if self.finding else self._suspect(now)
        if self.finding and self.finding.kind == "leak":
            left_s = view.brief.directives[-1].closes_s - now.time_s
            self._lost_g = LEAK_G_S * max(left_s, 0.0) - now.tank_residual_g
        if self.finding is None and not now.surplus_axis:
            self._gauge_g.append(now.tank_residual_g)
        self._seen = self._seen or now.tracker_valid
        return chosen

    @property
    def lost_g(self) -> float:
        """[g] Counted gas that the tank does not have; negative if it has more."""
        return 0.0 if self.finding is None else self._lost_g

    # -- finding -------------------------------------------------------------------------------

    def _suspect(self, now: Telemetry) -> tuple[AnyCommand, str] | None:
        if certain := _certain(now):
            return self._found(certain, now)
        if "nadir" in now.check:
            return self._read_tracker(now)
        if "dw_x" in now.check and (found := self._read_pulses(now)):
            return found
        if self._leaks(now):
            return self._found(Finding("leak"), now)
        if now.surplus_axis:
            return self._weigh(now)
        if self._doubted and not now.tracker_valid and self._looks < LOOKS:
            return self._calibrate(now)
        blind = self._seen and not now.tracker_valid and now.rate_deg_s < SLOW_DEG_S
        if blind and self._cleared < LOOKS_AROUND:
            why = "The star tracker is blind at a low rate: what is in its way?"
            return Check(subsystem="star_tracker"), why
        return None

    def _leaks(self, now: Telemetry) -> bool:
        """Whether the tank lacks more than valves and an unexplained rate can have taken."""
        kept = now.tank_residual_g - self._healthy_g
        return kept < -LEAK_G and GAS_G_S_DEG * now.surplus_deg_s < -LEAK_SHARE * kept

    @property
    def _healthy_g(self) -> float:
        """[g] Tank minus counted gas while nothing was wrong."""
        return sum(self._gauge_g) / max(len(self._gauge_g), 1)

    def _weigh(self, now: Telemetry) -> tuple[AnyCommand, str] | None:
        """An unexplained rate change: the tank tells a thruster from the gyro."""
        expected = GAS_G_S_DEG * now.surplus_deg_s
        kept = now.tank_residual_g - self._healthy_g
        if now.surplus_deg_s >= SHARP_DEG_S and kept > 0.5 * expected:
            return self._found(Finding("stuck_closed", _unit(now, along=False)), now)
        if now.surplus_deg_s >= SHARP_DEG_S and kept < -0.5 * expected:
            return self._found(Finding("stuck_open", _unit(now, along=True)), now)
        sharp_and_blind = now.surplus_deg_s >= SHARP_DEG_S and not now.tracker_valid
        self._doubted = self._doubted or sharp_and_blind
        if not self._pulsed and (now.rate_deg_s <= STEADY_DEG_S or not sharp_and_blind):
            self._pulsed = True
            why = f"The rate changed by {now.surplus_deg_s:g} deg/s unexplained."
            return Check(subsystem="thrusters"), why
        return self._calibrate(now) if sharp_and_blind else None

    def _read_pulses(self, now: Telemetry) -> tuple[AnyCommand, str] | None:
        """A thruster check: the pulse that is missing."""
        axis = max("xyz", key=lambda a: abs(now.check[f"dw_{a}"]))
        missing = now.check[f"dw_{axis}"]
        if abs(missing) < PULSE_DEG_S or now.rate_deg_s > STEADY_DEG_S:
            return None
        channel = 2 * "xyz".index(axis) + (0 if missing < 0 else 1)
        return self._found(Finding("stuck_closed", 1 + channel + UNITS_A * (now.branch == "B")), now)

    def _read_tracker(self, now: Telemetry) -> tuple[AnyCommand, str] | None:
        """A star tracker check: silent with nothing in its way, or not."""
        blocked = now.check.get("sun", 180.0) < SUN_DEG or now.check["nadir"] < NADIR_DEG
        if now.check["age"] < FRESH_S or blocked or now.rate_deg_s > SLOW_DEG_S or not self._seen:
            self._cleared += 1
            return None
        return self._found(Finding("star_tracker"), now)

    def _found(self, finding: Finding, now: Telemetry) -> tuple[AnyCommand, str] | None:
        self.finding = finding
        return self._respond(now)

    # -- responding ----------------------------------------------------------------------------

    def _respond(self, now: Telemetry) -> tuple[AnyCommand, str] | None:
        assert self.finding
        kind = self.finding.kind
        remedy = None
        if kind in THRUSTER_FAULTS:
            remedy = self._other_branch(now)
            self._lost_g = -now.tank_residual_g
        elif kind == "gyro_bias" and now.innovation_deg > BIASED_INN_DEG:
            remedy = self._calibrate(now)
        elif kind == "star_tracker" and now.source == "star_tracker":
            remedy = (
                SelectAttitudeSource(source="sun_sensors"),
                "No stars: let the Sun sensors hold the attitude.",
            )
        if remedy or self.reported or (kind in THRUSTER_FAULTS and self.finding.unit is None):
            return remedy
        self.reported = True
        return self.finding.report, f"The residuals agree on {kind}, and it is worked round."

    def _other_branch(self, now: Telemetry) -> tuple[AnyCommand, str] | None:
        assert self.finding
        unit = self.finding.unit
        hurt = now.branch if unit is None else "AB"[unit > UNITS_A]
        if self._switched or now.branch != hurt:
            return None
        self._switched = True
        other = SelectBranch(branch="B" if now.branch == "A" else "A")
        which = f"Thruster {unit}" if unit else "A thruster"
        return other, f"{which} does not do as commanded: the other branch has full authority."

    def _calibrate(self, now: Telemetry) -> tuple[AnyCommand, str] | None:
        true_deg_s = now.rate_deg_s - (now.gyro_tracker_deg_s or 0.0)
        if not now.tracker_valid:
            if self._looks >= LOOKS:
                return None
            self._looks += 1
            return Coast(duration_s=30), "The gyro is biased and no star in view: drift until there is one."
        if true_deg_s > CALIBRATION_DEG_S:
            return Detumble(
                rate_deg_s=0.1
            ), "The gyro is biased; slow down first, a calibration needs a low rate."
        return CalibrateGyro(duration_s=60), "The star tracker contradicts the gyro: take its bias out."


def _certain(now: Telemetry) -> Finding | None:
    """What one view proves."""
    if now.ended_by == "valve_current":
        return Finding("stuck_open", _unit(now, along=True))
    if now.ended_by == "innovation" or _biased(now):
        return Finding("gyro_bias")
    return Finding("star_tracker") if _silent(now) else None


def _dimmed(view: PolicyView) -> bool:
    """Whether the panel, at the Sun, gives less than it should."""
    now, number = view.telemetry, view.telemetry.directive
    at_sun = view.brief.directives[number - 1 : number]
    aimed = bool(at_sun) and at_sun[0].target == "sun" and (now.error_deg or 0.0) < PANEL_DEG
    return aimed and now.sun_residual_deg is not None and now.panel_w < PANEL_SHARE * PANEL_W


def _silent(now: Telemetry) -> bool:
    """Whether the onboard software misses a star tracker that agreed with the Sun sensors to the last."""
    missed = now.ended_by == "attitude_source" or "no attitude fix" in now.detail
    return missed and (now.sun_residual_deg or 0.0) < DRIFTED_DEG


def _biased(now: Telemetry) -> bool:
    """Whether gyro and star tracker disagree, in attitude and in rate."""
    return (
        now.tracker_valid
        and now.source == "star_tracker"
        and now.innovation_deg > BIASED_INN_DEG
        and abs(now.gyro_tracker_deg_s or 0.0) > BIASED_DGYRO_DEG_S
    )


def _unit(now: Telemetry, *, along: bool) -> int | None:
    """The thruster of the selected branch whose torque is along the unexplained change, or against it."""
    if not now.surplus_axis:
        return None
    positive = (now.surplus_axis[0] == "+") is along
    return 1 + 2 * "xyz".index(now.surplus_axis[1]) + (0 if positive else 1) + UNITS_A * (now.branch == "B")
