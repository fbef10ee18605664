"""Attitude algebra against SciPy, which shares no line with it."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from orbital_ops_env.sim import frames
from orbital_ops_env.sim.constants import MU_EARTH, OBLIQUITY_RAD
from orbital_ops_env.sim.frames import Mat3, Vec3

ROUND_OFF = 1e-14
"""A few operations on numbers of order one."""


@st.composite
def directions(draw: st.DrawFn) -> Vec3:
    z = draw(st.floats(-1.0, 1.0))
    azimuth = draw(st.floats(-math.pi, math.pi))
    across = math.sqrt(1 - z * z)
    return np.array([across * math.cos(azimuth), across * math.sin(azimuth), z])


@st.composite
def rotations(draw: st.DrawFn) -> Rotation:
    """Any rotation, with the awkward angles near 0 and pi drawn often."""
    near_zero = st.floats(-12.0, -1.0).map(lambda n: 10.0**n)
    near_half_turn = near_zero.map(lambda small: math.pi - small)
    angle = draw(st.one_of(st.floats(0.0, math.pi), near_zero, near_half_turn))
    return Rotation.from_rotvec(angle * draw(directions()))


def dcm(rotation: Rotation) -> Mat3:
    """SciPy turns vectors, a direction cosine matrix turns axes: one is the other's transpose."""
    return np.ascontiguousarray(rotation.as_matrix().T)


def ep(rotation: Rotation) -> Vec3:
    return rotation.as_quat(canonical=True, scalar_first=True)


@given(rotations())
def test_euler_parameters_and_matrix_describe_the_same_rotation(rotation: Rotation) -> None:
    assert np.abs(frames.dcm_from_ep(ep(rotation)) - dcm(rotation)).max() < ROUND_OFF
    back = frames.ep_from_dcm(dcm(rotation))
    assert back[0] >= 0.0
    assert abs(abs(back @ ep(rotation)) - 1.0) < ROUND_OFF
    assert np.abs(frames.dcm_from_ep(back) - dcm(rotation)).max() < ROUND_OFF


@given(rotations())
def test_mrp_are_those_of_scipy_and_of_the_short_rotation(rotation: Rotation) -> None:
    sigma = frames.mrp_from_dcm(dcm(rotation))
    assert np.linalg.norm(sigma) <= 1.0 + ROUND_OFF
    same = frames.dcm_from_mrp(rotation.as_mrp())
    assert np.abs(same - dcm(rotation)).max() < ROUND_OFF
    assert np.abs(frames.dcm_from_mrp(sigma) - dcm(rotation)).max() < ROUND_OFF


@given(rotations())
def test_mrp_of_either_sign_of_the_euler_parameters_are_equal(rotation: Rotation) -> None:
    q = ep(rotation)
    assume(abs(q[0]) > 1e-6)
    assert np.array_equal(frames.mrp_from_ep(q), frames.mrp_from_ep(-q))
    assert abs(np.linalg.norm(frames.ep_from_mrp(frames.mrp_from_ep(q))) - 1.0) < ROUND_OFF


@given(rotations(), rotations())
def test_the_product_of_euler_parameters_follows_the_product_of_matrices(
    first: Rotation, second: Rotation
) -> None:
    product = frames.dcm_from_ep(frames.ep_product(ep(second), ep(first)))
    assert np.abs(product - dcm(second) @ dcm(first)).max() < ROUND_OFF
    assert np.abs(product - dcm(first * second)).max() < ROUND_OFF
    assert np.abs(frames.matmul(dcm(second), dcm(first)) - product).max() < ROUND_OFF


@given(rotations())
@example(Rotation.from_rotvec([0.0, 0.0, 0.0]))
@example(Rotation.from_rotvec([0.0, math.pi, 0.0]))
@example(Rotation.from_rotvec([1e-4, 0.0, 0.0]))
@example(Rotation.from_rotvec([0.0, 0.0, math.pi - 1e-9]))
def test_a_rotation_vector_survives_the_way_through_euler_parameters(rotation: Rotation) -> None:
    theta = rotation.as_rotvec()
    q = frames.ep_of_rotation(theta)
    assert abs(abs(q @ ep(rotation)) - 1.0) < ROUND_OFF
    back = frames.rotation_of_ep(q)
    again = Rotation.from_rotvec(back) * rotation.inv()
    assert again.magnitude() < 1e-14 + 1e-14 * np.linalg.norm(theta)
    assert frames.rotation_angle(dcm(rotation)) == pytest.approx(rotation.magnitude(), abs=1e-7)


@given(directions(), st.floats(-15.0, -1.0))
def test_a_tiny_rotation_keeps_all_its_digits(axis: Vec3, exponent: float) -> None:
    theta = 10.0**exponent * axis
    back = frames.rotation_of_ep(frames.ep_of_rotation(theta))
    assert np.linalg.norm(back - theta) < ROUND_OFF * np.linalg.norm(theta)


@given(rotations(), directions())
def test_rotate_gives_components_along_the_rows(rotation: Rotation, v: Vec3) -> None:
    inverse = rotation.inv().apply(v)
    assert np.abs(frames.rotate(dcm(rotation), v) - inverse).max() < ROUND_OFF


@given(directions(), directions(), st.floats(-12.0, 0.0))
def test_the_angle_between_is_accurate_at_both_ends(u: Vec3, v: Vec3, exponent: float) -> None:
    axis = np.cross(u, v)
    assume(np.linalg.norm(axis) > 1e-3)
    small = 10.0**exponent
    turned = Rotation.from_rotvec(small * frames.unit(axis)).apply(u)
    assert frames.angle_between(u, turned) == pytest.approx(small, rel=1e-9, abs=1e-15)
    assert frames.angle_between(-u, turned) == pytest.approx(math.pi - small, abs=1e-14)


def is_right_handed_and_orthonormal(frame: Mat3) -> bool:
    straight = np.abs(frame @ frame.T - np.eye(3)).max() < 1e-12
    return bool(straight and abs(np.linalg.det(frame) - 1.0) < 1e-12)


@given(directions(), directions())
def test_a_pointing_frame_looks_at_the_target_with_its_panel_toward_the_sun(target: Vec3, sun: Vec3) -> None:
    apart = frames.angle_between(target, sun)
    assume(math.radians(0.1) < apart < math.pi - math.radians(0.1))
    frame = frames.pointing_frame(target, sun)
    assert is_right_handed_and_orthonormal(frame)
    assert np.array_equal(frame[2], target)
    assert frame[0] @ sun == pytest.approx(math.sin(apart), abs=1e-12)
    assert frames.angle_between(frame[1], sun) == pytest.approx(math.pi / 2, abs=1e-12)


@given(directions(), directions())
def test_a_sun_frame_faces_the_sun_with_its_tracker_near_the_normal(sun: Vec3, h: Vec3) -> None:
    apart = frames.angle_between(sun, h)
    assume(math.radians(0.1) < apart < math.pi - math.radians(0.1))
    frame = frames.sun_frame(sun, h)
    assert is_right_handed_and_orthonormal(frame)
    assert np.array_equal(frame[0], sun)
    assert frame[1] @ h == pytest.approx(math.sin(apart), abs=1e-12)


angles = st.floats(-math.pi, math.pi)


@given(st.floats(6.6e6, 5e7), st.floats(0.0, math.pi), angles, angles)
def test_a_circular_orbit_obeys_kepler(a: float, inclination: float, raan: float, u: float) -> None:
    r, v = frames.orbit_state(a, inclination, raan, u, MU_EARTH)
    assert np.linalg.norm(r) == pytest.approx(a, rel=1e-14)
    assert v @ v / 2 - MU_EARTH / a == pytest.approx(-MU_EARTH / (2 * a), rel=1e-12)
    assert abs(r @ v) < 1e-12 * a * np.linalg.norm(v)
    normal = Rotation.from_euler("ZX", [raan, inclination]).apply([0.0, 0.0, 1.0])
    assert np.abs(frames.unit(np.cross(r, v)) - normal).max() < 1e-13
    assert r[2] == pytest.approx(a * math.sin(u) * math.sin(inclination), abs=1e-7)


@given(st.floats(0.0, math.pi), angles, angles)
def test_a_nadir_frame_looks_down_and_flies_forward(i: float, raan: float, u: float) -> None:
    r, v = frames.orbit_state(6.878e6, i, raan, u, MU_EARTH)
    frame = frames.nadir_frame(r, v)
    assert is_right_handed_and_orthonormal(frame)
    assert np.abs(frame[2] + frames.unit(r)).max() < ROUND_OFF
    assert np.abs(frame[0] - frames.unit(v)).max() < 1e-13


@given(angles, st.floats(-math.pi / 2, math.pi / 2))
def test_sky_directions_are_unit_vectors_at_their_angles(alpha: float, delta: float) -> None:
    star = frames.celestial_direction(alpha, delta)
    assert np.linalg.norm(star) == pytest.approx(1.0, abs=ROUND_OFF)
    assert star[2] == pytest.approx(math.sin(delta), abs=ROUND_OFF)
    sun = frames.sun_direction(alpha, OBLIQUITY_RAD)
    ecliptic_north = np.array([0.0, -math.sin(OBLIQUITY_RAD), math.cos(OBLIQUITY_RAD)])
    assert abs(sun @ ecliptic_north) < ROUND_OFF
    assert np.linalg.norm(sun) == pytest.approx(1.0, abs=ROUND_OFF)
