"""The system prompt of a language-model policy: units, commands, costs and two worked examples."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class SlewCost:
    """Time and gas of a slew at one rate: `base + per_deg * angle`, give or take 1 sigma."""

    time_base_s: float
    time_per_deg_s: float
    gas_base_g: float
    gas_per_deg_g: float
    gas_sd_g: float
    time_sd_s: float = 12.0

    def time_s(self, angle_deg: float) -> float:
        """[s] until settled."""
        return self.time_base_s + self.time_per_deg_s * angle_deg

    def gas_g(self, angle_deg: float) -> float:
        """[g] of propellant."""
        return self.gas_base_g + self.gas_per_deg_g * angle_deg


SLEW_COSTS: Final = {
    0.2: SlewCost(26.0, 4.95, 0.23, 0.0022, 0.10),
    0.5: SlewCost(25.0, 2.00, 0.52, 0.0013, 0.11),
    1.0: SlewCost(37.0, 0.98, 1.11, 0.0, 0.12),
    2.0: SlewCost(42.0, 0.68, 1.82, 0.0018, 0.21),
}
"""By rate [deg/s]; the handbook that prompt and reference policy share, equal to `missions.budget`."""

_RIGHT_ANGLE_DEG = 90.0
_TIMES = "|".join(f"{cost.time_s(_RIGHT_ANGLE_DEG):.0f}" for cost in SLEW_COSTS.values())
_GASES = "|".join(f"{cost.gas_g(_RIGHT_ANGLE_DEG):.1f}" for cost in SLEW_COSTS.values())

SYSTEM_PROMPT: Final = f"""\
You are the flight controller of a small satellite on thrusters. Each turn reply with one \
command as one-line JSON, nothing else.
Do directives D1, D2, ... in order, each inside its window; keep the rules. Gas is scarce: the \
slowest slew in time is best. Things break: see which instruments disagree and report it.
Units: s, deg, deg/s, g, W, %.
Telemetry: t time, left turns, D directive, how the command ended, then what changed (- none): turn \
to its target, err pointing error, rate, dwell served, gas, dgas tank minus counted, inn \
tracker innovation, dgyro gyro minus tracker, dw unexplained rate change, ax its axis, dsun Sun sensors \
against estimate, bat, panel, data stored, on valve time, st star tracker, src attitude source.
Commands:
detumble rate_deg_s 0.05|0.1|0.2|0.5
slew target rate_deg_s 0.2|0.5|1|2: 90 deg take {_TIMES} s and {_GASES} g
hold target deadband_deg 0.2|0.5|1|3 duration_s 30|60|120|300|600|1200
coast duration_s as hold
fire axis +x|-x|+y|-y|+z|-z on_time_s 0.1|0.2|0.5|1|2|5: thrusters 1-6 A, 7-12 B
select_branch branch A|B
isolate_thruster unit 1-12
calibrate_gyro duration_s 60|120
select_attitude_source source star_tracker|sun_sensors|gyro
safe_mode duration_s 300|600|1200
image target
downlink station
check subsystem gyro|star_tracker|thrusters|tank|power
report_fault kind gyro_bias|gyro_drift|star_tracker|leak|panel, or unit and kind \
stuck_closed|stuck_open|weak_thruster
end_mission
Examples:
D1 rate under 0.3
{{"command":"detumble","rate_deg_s":0.1}}
D2 point VEGA, window 0-900, turn 90
{{"command":"slew","target":"VEGA","rate_deg_s":0.2}}"""
