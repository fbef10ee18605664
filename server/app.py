"""The server: the only reader of environment variables."""

import os

import uvicorn
from openenv.core.env_server import create_app  # pyright: ignore[reportUnknownVariableType]

from orbital_ops_env.models import OrbitalOpsAction, OrbitalOpsObservation, OrbitalOpsState
from orbital_ops_env.server.environment import OrbitalOpsEnvironment
from orbital_ops_env.server.warm_up import warm_up

MAX_CONCURRENT_ENVS = int(os.environ.get("MAX_CONCURRENT_ENVS", "256"))
"""Sessions at once; each is a simulation with a thread of its own."""

warm_up()
app = create_app(
    OrbitalOpsEnvironment,
    OrbitalOpsAction,
    OrbitalOpsObservation,
    env_name="orbital_ops_env",
    max_concurrent_envs=MAX_CONCURRENT_ENVS,
    state_cls=OrbitalOpsState,
)


def main() -> None:
    """Serve on HOST:PORT, 0.0.0.0:8000 if they are not set."""
    host, port = os.environ.get("HOST", "0.0.0.0"), int(os.environ.get("PORT", "8000"))
    # Messages are under a kilobyte: compressing them costs more than it saves.
    uvicorn.run(app, host=host, port=port, ws="websockets-sansio", ws_per_message_deflate=False)


if __name__ == "__main__":
    main()
