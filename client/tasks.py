"""The splits of a server and their tasks, over plain HTTP: no session, no episode."""

import re
from collections.abc import Mapping
from typing import Any, Final

import httpx

from orbital_ops_env.models import Split, TaskCard, TaskEntry

ROUTES: Final = "orbital_ops_env"
ANSWER_S: Final = 60.0
"""[s] for one answer."""


class Tasks:
    """What a server has to fly; `reset(split=..., index=...)` of the client flies it.

    For example, every brief of a split:

        tasks = Tasks("http://localhost:8000")
        for index in range(tasks.num_tasks("val")):
            print(tasks.get_task("val", index).brief)

    Every call blocks for one request; in a coroutine, `await asyncio.to_thread(tasks.num_tasks, "val")`.

    Args:
        url: Address of the server or Space.
        headers: Sent with each request, as `Authorization` for a private Space.

    Raises:
        ValueError: The server has no such split, or a range is too wide for one answer.
        IndexError: The split has no task of that index.
        ConnectionError: The server cannot be reached.
        RuntimeError: It answered something else.
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self._url = f"{re.sub('^ws', 'http', url.rstrip('/'))}/{ROUTES}"
        self._headers = headers

    def list_splits(self) -> list[Split]:
        """The splits, with the number of their tasks."""
        return [Split.model_validate(each) for each in self._ask("splits")]

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has."""
        return int(self._ask("num_tasks", split=split)["num_tasks"])

    def list_tasks(self, split: str) -> list[TaskEntry]:
        """The tasks of a split, or the first 1000 of them; `get_task_range` lists others."""
        return [TaskEntry.model_validate(each) for each in self._ask("tasks", split=split)["tasks"]]

    def get_task(self, split: str, index: int) -> TaskCard:
        """A task, with its brief."""
        return TaskCard.model_validate(self._ask("task", split=split, index=index)["task"])

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[TaskEntry]:
        """Tasks of a split from `start` up to `stop`, which count as in a slice; at most 1000."""
        answer = self._ask("task_range", split=split, start=start, stop=stop)
        return [TaskEntry.model_validate(each) for each in answer["tasks"]]

    def _ask(self, route: str, **body: Any) -> Any:
        """The answer of a route; without a body, to a GET."""
        try:
            answer = httpx.request(
                "POST" if body else "GET",
                f"{self._url}/{route}",
                json=body or None,
                headers=self._headers,
                timeout=ANSWER_S,
            )
        except httpx.TransportError as error:
            raise ConnectionError(f"no answer from {self._url}: {error}; is the server up?") from error
        match answer.status_code:
            case httpx.codes.OK:
                return answer.json()
            case httpx.codes.BAD_REQUEST:
                raise IndexError(f"split {body['split']} has no task {body['index']}, see num_tasks")
            case httpx.codes.UNPROCESSABLE_ENTITY:
                raise ValueError(answer.json()["detail"])
            case code:
                raise RuntimeError(f"the server answered {code}: {answer.text}")
