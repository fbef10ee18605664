"""The curricula's own routes, beside the environment's: for the trainer, never for the model.

Each asks for the server's token as a bearer's. A server without a token answers none of them, for whoever
creates runs decides what its processors do.
"""

import secrets
from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from orbital_ops_env.commands import describe, did_you_mean, printable
from orbital_ops_env.curriculum import metrics, snapshot
from orbital_ops_env.curriculum.archive import Run
from orbital_ops_env.curriculum.presets import PRESETS, Preset
from orbital_ops_env.models import HeldOut, RunOptions, RunStatus
from orbital_ops_env.server.runs import Runs

LARGEST_SNAPSHOT: Final = 256 * 2**20
"""[byte]"""


def add_routes(app: FastAPI, runs: Runs, token: str | None) -> None:
    """Let a server answer for its curricula.

    Args:
        app: The server.
        runs: Its curricula.
        token: What a caller must know; None answers nobody.
    """
    app.state.runs, app.state.token = runs, token
    app.include_router(routes)


def _runs(request: Request) -> Runs:
    return request.app.state.runs


Served = Annotated[Runs, Depends(_runs)]
bearer = HTTPBearer(auto_error=False)


async def _check_token(request: Request) -> None:
    """Refuse whoever does not know the token."""
    token: str | None = request.app.state.token
    if token is None:
        raise HTTPException(403, "this server has no CURRICULUM_TOKEN: set one to use curricula")
    caller: HTTPAuthorizationCredentials | None = await bearer(request)
    if caller is None or not secrets.compare_digest(caller.credentials.encode(), token.encode()):
        raise HTTPException(401, "expected the server's CURRICULUM_TOKEN as a bearer token")


class _Telling(APIRoute):
    """A route that asks for the token before it reads a body, and answers what was wrong with a request."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        answer = super().get_route_handler()

        async def handler(request: Request) -> Response:
            await _check_token(request)
            try:
                return await answer(request)
            except LookupError as error:
                raise HTTPException(404, str(error)) from error
            except ValueError as error:
                raise HTTPException(422, str(error)) from error

        return handler


routes = APIRouter(
    prefix="/curriculum/runs", tags=["Curriculum"], dependencies=[Depends(bearer)], route_class=_Telling
)


@routes.get("")
def names(runs: Served) -> list[str]:
    """Names of all runs."""
    return runs.archive.runs()


@routes.post("", status_code=201)
def create(runs: Served, options: RunOptions) -> RunStatus:
    """Begin a run."""
    if options.preset not in PRESETS:
        raise ValueError(f"no preset {options.preset!r}: expected one of {', '.join(PRESETS)}")
    known = tuple(name for name in Preset.model_fields if name != "kind")
    for name in options.changes:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ValueError(
                f"a preset has no number {printable(name)!r} to change{hint} Known: {', '.join(known)}."
            )
    try:
        preset = Preset.model_validate(PRESETS[options.preset].model_dump() | options.changes)
    except ValidationError as error:
        raise ValueError(f"{describe(error)}.") from error
    runs.engine.create(Run(options.run_id, preset, options.families, options.seed))
    return runs.status(options.run_id)


@routes.get("/{run_id}")
def status(runs: Served, run_id: str) -> RunStatus:
    """Where a run stands, and what is wrong with it."""
    return runs.status(run_id)


@routes.get("/{run_id}/metrics")
def windows(runs: Served, run_id: str) -> list[dict[str, Any]]:
    """Numbers of each generation, or of as many slots where there are none."""
    return metrics.windows(runs.archive, runs.archive.run(run_id))


@routes.get("/{run_id}/missions")
def missions(runs: Served, run_id: str, generation: int | None = None) -> list[dict[str, Any]]:
    """Missions of a generation, or all that were flown, with what became of them."""
    return metrics.missions(runs.archive, runs.archive.run(run_id), generation)


@routes.get("/{run_id}/missions/{mission}")
def mission(runs: Served, run_id: str, mission: str) -> dict[str, Any]:
    """Specification, certificate and lineage of a mission."""
    return metrics.mission(runs.archive, runs.archive.run(run_id), mission)


@routes.get("/{run_id}/lineage")
def lineage(runs: Served, run_id: str) -> list[dict[str, Any]]:
    """Every edit that made a mission."""
    return metrics.lineage(runs.archive, runs.archive.run(run_id))


@routes.post("/{run_id}/pause")
def pause(runs: Served, run_id: str) -> RunStatus:
    """Bind no new slot until the run is resumed; those that are bound go on."""
    return runs.pause(run_id, True)


@routes.post("/{run_id}/resume")
def resume(runs: Served, run_id: str) -> RunStatus:
    """Bind new slots again."""
    return runs.pause(run_id, False)


@routes.post("/{run_id}/held_out")
def report(runs: Served, run_id: str, held_out: HeldOut) -> RunStatus:
    """Tell how the model does on missions that are not trained on."""
    return runs.report(run_id, held_out)


@routes.get("/{run_id}/snapshot")
def pull(runs: Served, run_id: str) -> Response:
    """Everything of a run, to be kept with a checkpoint."""
    return Response(snapshot.dump(runs.archive, run_id), media_type="application/json")


@routes.put("/{run_id}/snapshot")
async def put(runs: Served, run_id: str, request: Request) -> RunStatus:
    """Put a run back as it was, in place of what there is of it."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST_SNAPSHOT:
            raise HTTPException(413, f"a snapshot has at most {LARGEST_SNAPSHOT} bytes")
    return await run_in_threadpool(runs.restore, run_id, bytes(content))
