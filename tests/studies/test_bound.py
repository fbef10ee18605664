"""The least gas: a bound that moves the right way and that nothing real undercuts."""

import math
from dataclasses import replace
from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from orbital_ops_env.commands import Coast, Fire
from orbital_ops_env.missions.catalog import LEVELS, SHORT_FAMILIES, generate
from orbital_ops_env.missions.directives import Charge, Point, ReduceRate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.server.flight import fly
from orbital_ops_env.sim.faults import Leak
from orbital_ops_env.sim.frames import dcm_from_mrp, triple
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import SpacecraftConfig, Track
from orbital_ops_env.studies.bound import DISTURBANCE_N_M, drift_rad, least_gas_kg
from orbital_ops_env.studies.oracle import judged

CELLS = (st.sampled_from(SHORT_FAMILIES), st.sampled_from(LEVELS), st.integers(0, 10**6))
MISSIONS = st.builds(generate, *CELLS)
INERTIA = np.array(SpacecraftConfig().inertia_kg_m2)


def changed(spec: MissionSpec, **update: float) -> MissionSpec:
    """A mission with numbers of all its directives changed, where they have them."""
    directives = tuple(
        d.model_copy(update={k: v for k, v in update.items() if hasattr(d, k)}) for d in spec.directives
    )
    return spec.model_copy(update={"directives": directives})


def momenta(track: Track) -> NDArray[np.float64]:
    """[N m s] (n, 3) angular momentum in N."""
    turned = zip(track.sigma_BN, track.omega_BN_B, strict=True)
    return np.array([dcm_from_mrp(sigma).T @ (INERTIA * omega) for sigma, omega in turned])


@given(MISSIONS, st.floats(1.05, 2.0))
def test_the_bound_moves_with_what_it_is_made_of(spec: MissionSpec, factor: float) -> None:
    least = least_gas_kg(spec)
    assert 0 <= least < spec.start.propellant_kg - spec.reserve_kg
    sooner = changed(spec, opens_s=0.0, dwell_s=1.0)
    later = sooner.model_copy(
        update={
            "directives": tuple(d.model_copy(update={"closes_s": 2 * d.closes_s}) for d in sooner.directives)
        }
    )
    assert least_gas_kg(later) <= least_gas_kg(sooner)
    assert least_gas_kg(changed(spec, tolerance_rad=0.2, rate_rad_s=0.02)) <= least
    if any(spec.start.omega_BN_B):
        faster = triple(factor * np.array(spec.start.omega_BN_B))
        start = replace(spec.start, omega_BN_B=faster)
        assert least_gas_kg(spec.model_copy(update={"start": start})) > factor * least


@given(st.floats(0.5, 10.0), st.floats(0.05, 0.5))
def test_a_tumble_about_one_axis_takes_its_momentum_over_the_leverage(tip_off: float, limit: float) -> None:
    """Against the textbook: I w over arm times exhaust speed, less the limit and the allowances."""
    spec = generate("detumble-v0", 4, 1)
    start = replace(spec.start, omega_BN_B=(math.radians(tip_off), 0.0, 0.0))
    rate = ReduceRate(opens_s=0, closes_s=101, dwell_s=1, rate_rad_s=math.radians(limit))
    alone = spec.model_copy(update={"start": start, "directives": (rate,), "faults": ()})
    impulse = 4.0 * math.radians(0.88 * tip_off - limit) - 100 * DISTURBANCE_N_M
    assert least_gas_kg(alone) == pytest.approx(max(impulse, 0.0) / (0.3 * 65 * 9.80665), rel=1e-9)


def test_a_charge_takes_no_gas_and_a_jet_of_a_leak_helps() -> None:
    spec = generate("detumble-v0", 4, 1)
    charge = Charge(opens_s=0, closes_s=100, dwell_s=5, level=0.5, turn_rad=1.0)
    assert least_gas_kg(spec.model_copy(update={"directives": (charge,)})) == 0
    leak = Leak(onset_s=0, flow_kg_s=1e-7, torque_n_m=(0.0, 0.0, 3.8e-5))
    helped = spec.model_copy(update={"faults": (leak,)})
    assert least_gas_kg(helped) == pytest.approx(least_gas_kg(spec) * 0.3 * 65 * 9.80665 / 380)


@pytest.mark.parametrize(("family", "level"), list(product(SHORT_FAMILIES, (0, 5))))
def test_the_reference_spends_more(family: str, level: int) -> None:
    won = 0
    for seed in range(3):
        flight = fly(generate(family, level, seed), Reference(), 900 + seed)
        if flight.succeeded:
            won += 1
            spent = flight.spec.start.propellant_kg - judged(flight).propellant_kg
            assert least_gas_kg(flight.spec) < spent
    assert won


@pytest.mark.parametrize("seed", range(4))
def test_disturbances_and_thrusters_give_no_more_than_assumed(seed: int) -> None:
    """Angular momentum on the true history of a drift and of pulses about every axis."""
    spec = generate("hold-v0", 2, seed)
    plant = Plant(spec.start, dict(spec.targets), seed)
    drift = plant.execute(Coast(duration_s=1200)).truth
    gained = np.linalg.norm(momenta(drift) - momenta(drift)[0], axis=1)
    assert gained[-1] > 0
    assert np.all(gained <= DISTURBANCE_N_M * (drift.t - drift.t[0]) + 1e-9)
    for axis in get_args(Fire.model_fields["axis"].annotation):
        fired = plant.execute(Fire(axis=axis, on_time_s=5.0)).truth
        impulse = float(np.linalg.norm(momenta(fired)[-1] - momenta(fired)[0]))
        lever = impulse / (fired.propellant_kg[0] - fired.propellant_kg[-1])
        assert 0.98 < lever / (0.3 * 65 * 9.80665) < 1.005


@pytest.mark.parametrize("seed", range(4))
def test_a_craft_at_rest_drifts_no_farther_than_assumed(seed: int) -> None:
    spec = generate("retarget-v0", 2, seed)
    track = Plant(spec.start, dict(spec.targets), seed).execute(Coast(duration_s=300)).truth
    cosines = np.clip(track.payload_N @ track.payload_N[0], -1, 1)
    for t, angle in zip(track.t, np.arccos(cosines), strict=True):
        assert angle <= drift_rad(float(t)) + 1e-6


def test_a_wide_tolerance_leaves_nothing_to_turn() -> None:
    spec = generate("retarget-v0", 4, 3)
    assert isinstance(spec.directives[0], Point)
    assert least_gas_kg(spec) > 0
    assert least_gas_kg(changed(spec, tolerance_rad=math.pi)) == 0
