"""Compile everything before the first session."""

from orbital_ops_env.commands import Coast
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.server.episode import Episode


def warm_up() -> None:
    """Build and fly one short episode: kernels compile or load from the cache."""
    Episode(generate("detumble-v0", level=0, seed=0), episode_seed=0).step(Coast(duration_s=30))
