"""Attitude algebra and the reference frames the craft points with.

A direction cosine matrix `dcm_AB` takes components in B to components in A; its rows are the axes of
A in B. Euler parameters are scalar first. Formulas: Schaub & Junkins, Analytical Mechanics of Space
Systems, chapter 3. Numba compiles every function here, for Python and for the kernels alike.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Vec3 = NDArray[np.float64]
"""(3,) components of a vector."""
Mat3 = NDArray[np.float64]
"""(3, 3) direction cosine matrix."""
EulerParameters = NDArray[np.float64]
"""(4,) Euler parameters, scalar first."""

SMALL_RAD = 1e-4
"""[rad] below it sin(x/2)/x is taken from its series, exact to 1e-18."""
TINY = 1e-9
"""[-] below it asin(x)/x is 1."""


@njit(cache=True)
def scaled(factor: float, v: Vec3) -> Vec3:
    """A vector times a number; an explicit loop compiles ten times faster than an array expression."""
    out = np.empty(3)
    for i in range(3):
        out[i] = factor * v[i]
    return out


@njit(cache=True)
def unit(v: Vec3) -> Vec3:
    """The direction of a non-zero vector."""
    return scaled(1 / norm(v), v)


@njit(cache=True)
def cross(a: Vec3, b: Vec3) -> Vec3:
    """The vector product."""
    out = np.empty(3)
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    return out


@njit(cache=True)
def angle_between(a: Vec3, b: Vec3) -> float:
    """[rad] Angle between two non-zero vectors, in [0, pi], accurate at both ends."""
    c = cross(a, b)
    sine = math.sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2])
    return math.atan2(sine, a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@njit(cache=True)
def matmul(a: Mat3, b: Mat3) -> Mat3:
    """The product of two 3 x 3 matrices (no BLAS: bit-identical on every thread count)."""
    c = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            c[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]
    return c


@njit(cache=True)
def rotate(dcm: Mat3, v: Vec3) -> Vec3:
    """Components of `v` in the frame of the matrix's rows."""
    out = np.zeros(3)
    for i in range(3):
        out[i] = dcm[i, 0] * v[0] + dcm[i, 1] * v[1] + dcm[i, 2] * v[2]
    return out


@njit(cache=True)
def relative(dcm_AN: Mat3, dcm_BN: Mat3) -> Mat3:
    """dcm_AB: the attitude of A relative to B."""
    c = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            c[i, j] = dcm_AN[i, 0] * dcm_BN[j, 0] + dcm_AN[i, 1] * dcm_BN[j, 1] + dcm_AN[i, 2] * dcm_BN[j, 2]
    return c


@njit(cache=True)
def rotate_back(dcm: Mat3, v: Vec3) -> Vec3:
    """Components of `v`, given in the frame of the matrix's rows, in the frame of its columns."""
    out = np.zeros(3)
    for i in range(3):
        out[i] = dcm[0, i] * v[0] + dcm[1, i] * v[1] + dcm[2, i] * v[2]
    return out


@njit(cache=True)
def norm(v: Vec3) -> float:
    """The length of a vector."""
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@njit(cache=True)
def inverse(q: EulerParameters) -> EulerParameters:
    """Euler parameters of the inverse rotation."""
    out = np.empty(4)
    out[0] = q[0]
    for i in range(1, 4):
        out[i] = -q[i]
    return out


@njit(cache=True)
def dcm_from_ep(q: EulerParameters) -> Mat3:
    """The direction cosine matrix of Euler parameters."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    c = np.empty((3, 3))
    c[0, 0] = w * w + x * x - y * y - z * z
    c[0, 1] = 2 * (x * y + w * z)
    c[0, 2] = 2 * (x * z - w * y)
    c[1, 0] = 2 * (x * y - w * z)
    c[1, 1] = w * w - x * x + y * y - z * z
    c[1, 2] = 2 * (y * z + w * x)
    c[2, 0] = 2 * (x * z + w * y)
    c[2, 1] = 2 * (y * z - w * x)
    c[2, 2] = w * w - x * x - y * y + z * z
    return c


@njit(cache=True)
def ep_from_dcm(c: Mat3) -> EulerParameters:
    """Euler parameters of a direction cosine matrix by Sheppard's method, scalar part >= 0."""
    trace = c[0, 0] + c[1, 1] + c[2, 2]
    q = np.empty(4)
    q[0] = (1 + trace) / 4
    for i in range(3):
        q[i + 1] = (1 + 2 * c[i, i] - trace) / 4
    largest = 0
    for i in range(1, 4):
        if q[i] > q[largest]:
            largest = i
    root = math.sqrt(q[largest])
    d = 4 * root
    if largest == 0:
        q[1] = (c[1, 2] - c[2, 1]) / d
        q[2] = (c[2, 0] - c[0, 2]) / d
        q[3] = (c[0, 1] - c[1, 0]) / d
    else:
        i = largest - 1
        j, k = (i + 1) % 3, (i + 2) % 3
        q[0] = (c[j, k] - c[k, j]) / d
        q[j + 1] = (c[i, j] + c[j, i]) / d
        q[k + 1] = (c[k, i] + c[i, k]) / d
    q[largest] = root
    if q[0] < 0:
        for i in range(4):
            q[i] = -q[i]
    return q


@njit(cache=True)
def mrp_from_ep(q: EulerParameters) -> Vec3:
    """Modified Rodrigues parameters of the short rotation (norm at most 1)."""
    return scaled(1 / (1 + q[0]) if q[0] >= 0 else -1 / (1 - q[0]), q[1:])


@njit(cache=True)
def ep_from_mrp(sigma: Vec3) -> EulerParameters:
    """Euler parameters of modified Rodrigues parameters."""
    s2 = sigma[0] * sigma[0] + sigma[1] * sigma[1] + sigma[2] * sigma[2]
    q = np.empty(4)
    q[0] = (1 - s2) / (1 + s2)
    for i in range(3):
        q[i + 1] = 2 * sigma[i] / (1 + s2)
    return q


@njit(cache=True)
def dcm_from_mrp(sigma: Vec3) -> Mat3:
    """The direction cosine matrix of modified Rodrigues parameters."""
    return dcm_from_ep(ep_from_mrp(sigma))


@njit(cache=True)
def mrp_from_dcm(dcm: Mat3) -> Vec3:
    """Modified Rodrigues parameters of a direction cosine matrix (norm at most 1)."""
    return mrp_from_ep(ep_from_dcm(dcm))


@njit(cache=True)
def ep_product(q_CB: EulerParameters, q_BA: EulerParameters) -> EulerParameters:
    """Euler parameters of C relative to A, so that dcm_CA = dcm_CB dcm_BA."""
    a, b = q_BA, q_CB
    q = np.empty(4)
    q[0] = b[0] * a[0] - b[1] * a[1] - b[2] * a[2] - b[3] * a[3]
    q[1] = b[1] * a[0] + b[0] * a[1] + b[3] * a[2] - b[2] * a[3]
    q[2] = b[2] * a[0] - b[3] * a[1] + b[0] * a[2] + b[1] * a[3]
    q[3] = b[3] * a[0] + b[2] * a[1] - b[1] * a[2] + b[0] * a[3]
    return q


@njit(cache=True)
def ep_of_rotation(theta: Vec3) -> EulerParameters:
    """Euler parameters of a rotation vector.

    Args:
        theta: [rad] (3,) rotation axis times angle.
    """
    angle = math.sqrt(theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2])
    q = np.empty(4)
    q[0] = math.cos(angle / 2)
    scale = 0.5 - angle * angle / 48 if angle < SMALL_RAD else math.sin(angle / 2) / angle
    for i in range(3):
        q[i + 1] = scale * theta[i]
    return q


@njit(cache=True)
def rotation_of_ep(q: EulerParameters) -> Vec3:
    """[rad] (3,) Rotation vector of Euler parameters, angle in [0, pi]."""
    sign = -1.0 if q[0] < 0 else 1.0
    sine = math.sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    scale = 2.0 if sine < TINY else 2 * math.atan2(sine, sign * q[0]) / sine
    return scaled(sign * scale, q[1:])


@njit(cache=True)
def rotation_angle(dcm: Mat3) -> float:
    """[rad] Principal rotation angle, in [0, pi]."""
    r = rotation_of_ep(ep_from_dcm(dcm))
    return math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])


@njit(cache=True)
def sun_direction(ecliptic_longitude: float, obliquity: float) -> Vec3:
    """Unit vector to the Sun in N (mean equator, J2000).

    Args:
        ecliptic_longitude: [rad] longitude of the Sun.
        obliquity: [rad] obliquity of the ecliptic.
    """
    s = math.sin(ecliptic_longitude)
    return np.array([math.cos(ecliptic_longitude), s * math.cos(obliquity), s * math.sin(obliquity)])


@njit(cache=True)
def celestial_direction(right_ascension: float, declination: float) -> Vec3:
    """Unit vector in N of a right ascension and a declination [rad]."""
    c = math.cos(declination)
    return np.array([c * math.cos(right_ascension), c * math.sin(right_ascension), math.sin(declination)])


@njit(cache=True)
def from_axes(x_hat: Vec3, y_hat: Vec3, z_hat: Vec3) -> Mat3:
    """The direction cosine matrix whose rows are three unit vectors."""
    dcm = np.empty((3, 3))
    for i in range(3):
        dcm[0, i] = x_hat[i]
        dcm[1, i] = y_hat[i]
        dcm[2, i] = z_hat[i]
    return dcm


@njit(cache=True)
def pointing_frame(z_hat_N: Vec3, sun_hat_N: Vec3) -> Mat3:
    """dcm_RN that points the payload (+z) at a direction and the panel (+x) as near the Sun as can be.

    The star tracker (+y) is then at right angles to the Sun. Undefined when the two are parallel.
    """
    y_hat = unit(cross(z_hat_N, sun_hat_N))
    return from_axes(cross(y_hat, z_hat_N), y_hat, z_hat_N)


@njit(cache=True)
def sun_frame(sun_hat_N: Vec3, h_hat_N: Vec3) -> Mat3:
    """dcm_RN that points the panel (+x) at the Sun and the star tracker (+y) near the orbit normal."""
    z_hat = unit(cross(sun_hat_N, h_hat_N))
    return from_axes(sun_hat_N, cross(z_hat, sun_hat_N), z_hat)


@njit(cache=True)
def nadir_frame(r_BN_N: Vec3, v_BN_N: Vec3) -> Mat3:
    """dcm_RN with the payload (+z) at the Earth's centre and the star tracker (+y) against the normal."""
    z_hat = scaled(-1.0, unit(r_BN_N))
    y_hat = unit(cross(v_BN_N, r_BN_N))
    return from_axes(cross(y_hat, z_hat), y_hat, z_hat)


@njit(cache=True)
def site_frame(z_hat_N: Vec3, away_hat_N: Vec3) -> Mat3:
    """dcm_RN that points the payload (+z) at a place on the ground and the star tracker (+y) off the Earth.

    Args:
        z_hat_N: (3,) direction to the place.
        away_hat_N: (3,) what the star tracker is as near to as can be, not along the first: the orbit normal
            on the side where the place is, which is the one that leans away from the Earth.
    """
    side = z_hat_N[0] * away_hat_N[0] + z_hat_N[1] * away_hat_N[1] + z_hat_N[2] * away_hat_N[2]
    across = np.empty(3)
    for i in range(3):
        across[i] = away_hat_N[i] - side * z_hat_N[i]
    y_hat = unit(across)
    return from_axes(cross(y_hat, z_hat_N), y_hat, z_hat_N)


@njit(cache=True)
def orbit_state(
    semi_major_axis: float, inclination: float, raan: float, latitude: float, mu: float
) -> tuple[Vec3, Vec3]:
    """Position [m] and velocity [m/s] in N on a circular orbit.

    Args:
        semi_major_axis: [m] radius of the orbit.
        inclination: [rad] inclination.
        raan: [rad] right ascension of the ascending node.
        latitude: [rad] argument of latitude.
        mu: [m^3/s^2] gravitational parameter.
    """
    node = np.array([math.cos(raan), math.sin(raan), 0.0])
    quarter = np.array(
        [
            -math.sin(raan) * math.cos(inclination),
            math.cos(raan) * math.cos(inclination),
            math.sin(inclination),
        ]
    )
    speed = math.sqrt(mu / semi_major_axis)
    r = semi_major_axis * (math.cos(latitude) * node + math.sin(latitude) * quarter)
    v = speed * (math.cos(latitude) * quarter - math.sin(latitude) * node)
    return r, v


@njit(cache=True)
def body_axis(sigma_BN: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """(n, 3) Components in N of one body axis along an attitude history.

    Args:
        sigma_BN: [-] (n, 3) attitude MRPs.
        axis: 0, 1 or 2 for x, y or z.
    """
    out = np.empty((len(sigma_BN), 3))
    for n in range(len(sigma_BN)):
        out[n] = dcm_from_mrp(sigma_BN[n])[axis]
    return out


@njit(cache=True)
def angles_between(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """[rad] (n,) Angles between the rows of two (n, 3) arrays, in [0, pi]; `b` may have one row for all."""
    out = np.empty(len(a))
    for n in range(len(a)):
        out[n] = angle_between(a[n], b[n if len(b) > 1 else 0])
    return out


def triple(v: Vec3) -> tuple[float, float, float]:
    """The components of a vector as plain floats."""
    return float(v[0]), float(v[1]), float(v[2])
