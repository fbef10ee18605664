"""Compile everything before the first session."""

from orbital_ops_env.commands import Coast
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.sim.faults import Leak


def warm_up() -> None:
    """Build and fly a short episode of pointing: what Numba compiles is compiled or read from its cache."""
    leaking = {"faults": (Leak(0.0, 1e-9, (0.0, 0.0, 0.0)),)}  # the one fault with a kernel of its own
    spec = generate("retarget-v0", level=0, seed=0).model_copy(update=leaking)
    Episode(spec, episode_seed=0).step(Coast(duration_s=30))
    generate("detumble-v0", level=0, seed=0)  # reckons its tumble beforehand
