"""The server: the only reader of environment variables."""

import argparse
import functools
import os

import uvicorn
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from openenv.core.env_server import create_app  # pyright: ignore[reportUnknownVariableType]

from orbital_ops_env.curriculum.background import LEASE_S
from orbital_ops_env.curriculum.database import IN_MEMORY
from orbital_ops_env.models import OrbitalOpsAction, OrbitalOpsObservation, OrbitalOpsState
from orbital_ops_env.server.environment import OrbitalOpsEnvironment, Refused
from orbital_ops_env.server.routes import add_routes
from orbital_ops_env.server.runs import WORKERS, Runs
from orbital_ops_env.server.warm_up import warm_up

MAX_CONCURRENT_ENVS = int(os.environ.get("MAX_CONCURRENT_ENVS", "256"))
"""Sessions at once; each is a simulation with a thread of its own."""

CURRICULUM_DATABASE = os.environ.get("CURRICULUM_DATABASE", IN_MEMORY)
"""File of the curricula; without one they end with the server."""
CURRICULUM_TOKEN = os.environ.get("CURRICULUM_TOKEN")
"""What a trainer must know to use curricula; without one nobody can."""
CURRICULUM_WORKERS = int(os.environ.get("CURRICULUM_WORKERS", WORKERS))
"""Processes that certify missions of curricula."""
CURRICULUM_LEASE_S = float(os.environ.get("CURRICULUM_LEASE_S", LEASE_S))
"""[s] without a step after which an episode of a curriculum is a failure."""

warm_up()
runs = Runs(CURRICULUM_DATABASE, CURRICULUM_WORKERS, CURRICULUM_LEASE_S)
app = create_app(
    functools.partial(OrbitalOpsEnvironment, runs),
    OrbitalOpsAction,
    OrbitalOpsObservation,
    env_name="orbital_ops_env",
    max_concurrent_envs=MAX_CONCURRENT_ENVS,
    state_cls=OrbitalOpsState,
)


@app.exception_handler(RequestValidationError)
def complain(request: Request, wrong: RequestValidationError) -> JSONResponse:
    """What is wrong with a request; not the request itself, which may be no JSON, as NaN is not."""
    told = [{key: error[key] for key in ("type", "loc", "msg")} for error in wrong.errors()]
    return JSONResponse({"detail": told}, status_code=422)


@app.exception_handler(Refused)
def refuse(request: Request, refused: Refused) -> JSONResponse:
    """What the HTTP routes answer to an option or a split that there is not."""
    return JSONResponse({"detail": str(refused)}, status_code=422)


add_routes(app, runs, CURRICULUM_TOKEN)
app.router.on_shutdown.append(runs.close)


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description="Serve OrbitalOps: /ws for clients, /web for people.")
    parser.add_argument(
        "--host", default=os.environ.get("HOST", "0.0.0.0"), help="default: $HOST, or 0.0.0.0"
    )
    parser.add_argument(
        "--port", default=os.environ.get("PORT", "8000"), type=int, help="default: $PORT, or 8000"
    )
    chosen = parser.parse_args()
    uvicorn.run(app, host=chosen.host, port=chosen.port)


if __name__ == "__main__":
    main()
