"""The cost model against the plant it was fitted to."""

import math
from dataclasses import replace

import numpy as np
import pytest

from orbital_ops_env.commands import Detumble, Hold, Slew
from orbital_ops_env.missions import budget
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.missions.directives import Point
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import SpacecraftConfig

FULL_KG = 8e-3
"""[kg] enough for any slew, which a mission's budget need not be."""


@pytest.mark.parametrize("rate", budget.SLEW_GAS_G)
def test_slews_cost_what_the_budget_says(rate: float) -> None:
    gas, time = [], []
    for seed in range(6):
        spec = generate("retarget-v0", 0, seed)
        directive = spec.directives[0]
        assert isinstance(directive, Point)
        plant = Plant(replace(spec.start, propellant_kg=FULL_KG), dict(spec.targets), seed)
        flown = plant.execute(Slew(target=directive.target, rate_deg_s=rate)).truth
        used_g = 1e3 * (flown.propellant_kg[0] - flown.propellant_kg[-1])
        gas.append(used_g - budget.slew_gas_g(rate, directive.turn_rad))
        time.append(flown.t[-1] - budget.slew_time_s(rate, directive.turn_rad))
    assert np.mean(gas) == pytest.approx(0, abs=2 * budget.SLEW_GAS_SD_G[rate])
    assert np.mean(time) == pytest.approx(0, abs=1.5 * budget.SLEW_TIME_SD_S)


@pytest.mark.parametrize("deadband", budget.HOLD_GAS_G_S)
def test_long_holds_cost_what_the_budget_says(deadband: float) -> None:
    flows = []
    for seed in range(6):
        spec = generate("hold-v0", 1, seed)
        plant = Plant(replace(spec.start, propellant_kg=FULL_KG), dict(spec.targets), seed)
        target = spec.targets[0][0]
        plant.execute(Slew(target=target, rate_deg_s=1.0))
        plant.execute(Hold(target=target, deadband_deg=deadband, duration_s=60.0))
        held = plant.execute(Hold(target=target, deadband_deg=deadband, duration_s=600.0)).truth
        flows.append(1e3 * (held.propellant_kg[0] - held.propellant_kg[-1]) / 600.0)
    assert np.mean(flows) == pytest.approx(budget.HOLD_GAS_G_S[deadband], rel=0.25)


@pytest.mark.parametrize("level", [2, 5, 9])
def test_detumbles_cost_what_the_budget_says(level: int) -> None:
    for seed in range(4):
        spec = generate("detumble-v0", level, seed)
        gas_g, time_s = budget.detumble(np.array(spec.start.omega_BN_B), SpacecraftConfig())
        flown = Plant(spec.start, dict(spec.targets), seed).execute(Detumble(rate_deg_s=0.1)).truth
        used_g = 1e3 * (flown.propellant_kg[0] - flown.propellant_kg[-1])
        assert used_g == pytest.approx(gas_g, rel=4 * budget.DETUMBLE_SD)
        assert flown.t[-1] == pytest.approx(time_s, abs=15)


def test_a_path_nears_the_sun_between_its_ends() -> None:
    sun = np.array([1.0, 0.0, 0.0])
    half = math.radians(40)
    across = np.array([0.0, 0.0, 1.0])
    start, end = (
        np.array([across, np.cross(z, across), z])
        for z in (
            np.array([math.cos(half), math.sin(half), 0.0]),
            np.array([math.cos(half), -math.sin(half), 0.0]),
        )
    )
    assert budget.path_angle(start, end, sun) == pytest.approx(0.0, abs=math.radians(2))
