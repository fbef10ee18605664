"""Where `openenv push` and the web page's quick start look for the client.

They parse this file. Python never imports it: the package `client/` has the same name and wins.
"""

from orbital_ops_env.client.env import EnvClient
from orbital_ops_env.client.env import OrbitalOpsEnv as _OrbitalOpsEnv


class OrbitalOpsEnv(_OrbitalOpsEnv, EnvClient):
    """The client of `orbital_ops_env.client`."""
