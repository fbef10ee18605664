"""Compile everything before the first session."""

from orbital_ops_env.commands import Coast
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.server.episode import Episode


def warm_up() -> None:
    """Build and fly a short episode of pointing: what Numba compiles is compiled or read from its cache."""
    Episode(generate("retarget-v0", level=0, seed=0), episode_seed=0).step(Coast(duration_s=30))
