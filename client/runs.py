"""Curricula of a server, over plain HTTP: for whoever trains, never for the model."""

import re
from collections.abc import Mapping
from typing import Any, Final

import httpx

from orbital_ops_env.models import HeldOut, RunOptions, RunStatus

ANSWER_S: Final = 120.0
"""[s] for one answer."""


class Runs:
    """Curricula that trainers follow; the client's `reset(split="curriculum", ...)` flies their slots.

    For example, a group of four on the first mission of a run:

        runs = Runs("http://localhost:8000", token)
        runs.create(RunOptions(run_id="first", preset="eva", changes={"members": 4}))
        for member in range(4):
            env.reset(split="curriculum", index=0, run_id="first", member=member)

    Every call blocks for one request.

    Args:
        url: Address of the server or Space.
        token: The server's CURRICULUM_TOKEN; None is refused.

    Raises:
        ValueError: A run, preset or snapshot is not what was expected; the message says what was.
        LookupError: The server has no such run or mission.
        PermissionError: The token is not the server's, or it has none.
        ConnectionError: The server cannot be reached.
        RuntimeError: It answered something else.
    """

    def __init__(self, url: str, token: str | None) -> None:
        if not token or token.strip() != token:
            raise PermissionError("no token, or spaces around it: expected the server's CURRICULUM_TOKEN")
        self._url = f"{re.sub('^ws', 'http', url.rstrip('/'))}/curriculum/runs"
        self._headers = {"Authorization": f"Bearer {token}"}

    def names(self) -> list[str]:
        """Names of all runs."""
        return self._ask("GET", "")

    def create(self, options: RunOptions) -> RunStatus:
        """Begin a run."""
        return RunStatus.model_validate(self._ask("POST", "", json=options.model_dump()))

    def status(self, run_id: str) -> RunStatus:
        """Where a run stands, and what is wrong with it."""
        return RunStatus.model_validate(self._ask("GET", f"/{run_id}"))

    def metrics(self, run_id: str) -> list[dict[str, Any]]:
        """Numbers of each window of groups: a generation, or as many slots where there are none.

        They are of groups whose members have all flown. `window` is its number; `groups`, `episodes`,
        `success` and `return` are of what was flown; `live` is the share of groups with both successes and
        failures; `repeated` counts groups that do not count for the next generation; `estimates` is a
        histogram of the groups' success in tenths; `families` and `levels` count groups; `frontier` is the
        level of half success by family; `lineage` is the share of the largest one; `certificates` counts
        verdicts by operator.
        """
        return self._ask("GET", f"/{run_id}/metrics")

    def missions(self, run_id: str, generation: int | None = None) -> list[dict[str, Any]]:
        """Missions of a generation, or all that were flown, with what became of them.

        Each has `mission`, its content hash; `family`; `level`, that of the families' tables which it is most
        like; `root`, the first mission of its lineage, and `generation`, the first that it was in, both None
        where none evolve; `groups` and `episodes` of groups that are whole so far, and `success` over these.
        """
        params = {} if generation is None else {"generation": generation}
        return self._ask("GET", f"/{run_id}/missions", params=params)

    def mission(self, run_id: str, mission: str) -> dict[str, Any]:
        """Specification, certificate and lineage of a mission."""
        return self._ask("GET", f"/{run_id}/missions/{mission}")

    def lineage(self, run_id: str) -> list[dict[str, Any]]:
        """Every edit that made a mission: `child`, `parent`, `operator`, `harder`."""
        return self._ask("GET", f"/{run_id}/lineage")

    def pause(self, run_id: str) -> RunStatus:
        """Bind no new slot until the run is resumed; those that are bound go on."""
        return RunStatus.model_validate(self._ask("POST", f"/{run_id}/pause"))

    def resume(self, run_id: str) -> RunStatus:
        """Bind new slots again."""
        return RunStatus.model_validate(self._ask("POST", f"/{run_id}/resume"))

    def report(self, run_id: str, held_out: HeldOut) -> RunStatus:
        """Tell how the model does on missions that are not trained on."""
        return RunStatus.model_validate(self._ask("POST", f"/{run_id}/held_out", json=held_out.model_dump()))

    def snapshot(self, run_id: str) -> bytes:
        """Everything of a run, to be kept with a checkpoint."""
        return self._answer("GET", f"/{run_id}/snapshot").content

    def restore(self, run_id: str, content: bytes) -> RunStatus:
        """Put a run back as it was, in place of what there is of it; what is being flown does not count.

        A snapshot goes back under its own name only: two trainings from one checkpoint want two servers.
        """
        return RunStatus.model_validate(self._ask("PUT", f"/{run_id}/snapshot", content=content))

    def _ask(self, method: str, route: str, **body: Any) -> Any:
        return self._answer(method, route, **body).json()

    def _answer(self, method: str, route: str, **body: Any) -> httpx.Response:
        try:
            answer = httpx.request(
                method, f"{self._url}{route}", headers=self._headers, timeout=ANSWER_S, **body
            )
        except httpx.TransportError as error:
            raise ConnectionError(f"no answer from {self._url}: {error}; is the server up?") from error
        if answer.is_success:
            return answer
        kinds: Mapping[int, type[Exception]] = {
            httpx.codes.UNAUTHORIZED: PermissionError,
            httpx.codes.FORBIDDEN: PermissionError,
            httpx.codes.NOT_FOUND: LookupError,
            httpx.codes.UNPROCESSABLE_ENTITY: ValueError,
        }
        raise kinds.get(answer.status_code, RuntimeError)(f"{answer.status_code}: {_detail(answer)}")


def _detail(answer: httpx.Response) -> Any:
    try:
        return answer.json()["detail"]
    except (ValueError, LookupError, TypeError):
        return answer.text[:500]
