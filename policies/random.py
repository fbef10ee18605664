"""Draws any command with any arguments; the floor that learning starts from."""

from typing import get_args

import numpy as np

from orbital_ops_env import commands
from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import AnyCommand


class Random:
    """Uniform over commands, then over the menu of each argument; targets from the brief."""

    rationale = ""

    def begin(self, seed: int) -> None:
        """Draw from this seed."""
        self._rng = np.random.default_rng(seed)

    def act(self, view: PolicyView) -> AnyCommand:
        """A random command."""
        return draw(self._rng, view.brief.targets)


def draw(rng: np.random.Generator, targets: tuple[str, ...]) -> AnyCommand:
    """A uniformly drawn telecommand; ending the mission is left out."""

    def pick(menu: tuple[float, ...]) -> float:
        return float(rng.choice(menu))

    target = str(rng.choice(targets))
    kinds = (k for k in get_args(commands.Telecommand) if k is not commands.EndMission)
    options = {
        commands.Detumble: lambda: {"rate_deg_s": pick(commands.DETUMBLE_RATES_DEG_S)},
        commands.Slew: lambda: {"target": target, "rate_deg_s": pick(commands.SLEW_RATES_DEG_S)},
        commands.Hold: lambda: {
            "target": target,
            "deadband_deg": pick(commands.DEADBANDS_DEG),
            "duration_s": pick(commands.DURATIONS_S),
        },
        commands.Coast: lambda: {"duration_s": pick(commands.DURATIONS_S)},
        commands.Fire: lambda: {
            "axis": str(rng.choice(["+x", "-x", "+y", "-y", "+z", "-z"])),
            "on_time_s": pick(commands.ON_TIMES_S),
        },
        commands.SelectBranch: lambda: {"branch": str(rng.choice(["A", "B"]))},
        commands.IsolateThruster: lambda: {"unit": int(rng.integers(1, 13))},
        commands.CalibrateGyro: lambda: {"duration_s": pick(commands.CALIBRATION_DURATIONS_S)},
        commands.SelectAttitudeSource: lambda: {"source": str(rng.choice(get_args(commands.AttitudeSource)))},
        commands.SafeMode: lambda: {"duration_s": pick(commands.SAFE_MODE_DURATIONS_S)},
        commands.Check: lambda: {"subsystem": str(rng.choice(get_args(commands.Subsystem)))},
        commands.ReportFault: lambda: _report(rng),
        commands.Image: lambda: {"target": target},
        commands.Downlink: lambda: {"station": target},
    }
    kind = list(kinds)[int(rng.integers(len(options)))]
    return kind.model_validate(options[kind]())


def _report(rng: np.random.Generator) -> dict[str, str | int]:
    kind = str(rng.choice(get_args(commands.FaultKind)))
    unit = {"unit": int(rng.integers(1, 13))} if kind in commands.THRUSTER_FAULTS else {}
    return {"kind": kind, **unit}
