"""Flies one fixed sequence and prints a digest of all it did: run by tests, here and as a process.

python flown_digest.py SEED
"""

import hashlib
import sys
from dataclasses import astuple

import numpy as np

from orbital_ops_env.commands import Check, Coast, Detumble, Fire, SelectBranch, Slew
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.sim.state import Nadir, Orbit, Snapshot, Start, Sun

NETWORK_MODULES = ("simIncludeGravBody", "dataFetcher", "simHelpers")
"""Parts of Basilisk that reach for the network when imported."""


def digest(snapshot: Snapshot) -> str:
    """SHA-256 of every number of a snapshot: truth, estimate and instruments."""
    parts = hashlib.sha256()
    for record in (snapshot.truth, snapshot.estimate, snapshot.sensed):
        for value in astuple(record):
            whole = isinstance(value, np.ndarray)
            parts.update(value.tobytes() if whole else repr(value).encode())
    parts.update(f"{snapshot.t!r} {snapshot.reason} {snapshot.detail}".encode())
    return parts.hexdigest()


def fly(seed: int) -> str:
    """The digests of a flight through every kind of onboard software, one line a command."""
    orbit = Orbit(raan_rad=1.02, latitude_rad=0.0, sun_longitude_rad=1.0, sidereal_rad=0.2)
    start = Start(orbit, (0.1, -0.3, 0.2), (0.03, -0.02, 0.01), 0.004, attitude_known=False)
    plant = Plant(start, {"sun": Sun(), "nadir": Nadir()}, seed)
    lines = [digest(plant.snapshot)]
    for command in (
        Detumble(rate_deg_s=0.1),
        Fire(axis="+y", on_time_s=0.2),
        SelectBranch(branch="B"),
        Slew(target="nadir", rate_deg_s=2.0),
        Check(subsystem="thrusters"),
        Coast(duration_s=30.0),
    ):
        lines.append(digest(plant.execute(command)))
    return "\n".join(lines)


def network_modules() -> list[str]:
    """Loaded modules that must not be."""
    return [name for name in sys.modules if name.rpartition(".")[2] in NETWORK_MODULES]


if __name__ == "__main__":
    print(fly(int(sys.argv[1])))  # noqa: T201
    print(network_modules())  # noqa: T201
