"""OrbitalOps: a language model flies a small satellite, one telecommand per turn.

Importing the package loads nothing, since OpenEnv takes seconds. `orbital_ops_env.client` is the client;
its names can also be imported from here, as OpenEnv's quick start does.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """A name of `orbital_ops_env.client`, loaded when it is first asked for."""
    if not name.startswith("OrbitalOps"):
        raise AttributeError(f"module 'orbital_ops_env' has no attribute {name!r}")
    return getattr(import_module("orbital_ops_env.client"), name)
