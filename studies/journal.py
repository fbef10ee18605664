"""What a long study has found so far, on disk, so that a study that is killed goes on where it was."""

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future, as_completed
from pathlib import Path
from typing import Any, TypeVar

from rich.progress import track

Job = TypeVar("Job")


class Journal:
    """Results by key; each is a line of JSON in a file, written as soon as it is known.

    Args:
        path: The file; begun if there is none. The last line is dropped if it was not written to its end.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            file.seek(0)
            content = file.read()
            whole = content.rfind(b"\n") + 1
            file.truncate(whole)
        rows = (json.loads(line) for line in content[:whole].splitlines())
        self._found: dict[str, Any] = {row["key"]: row["value"] for row in rows}

    def get(self, key: str) -> Any:
        """The result of a key; None if there is none yet."""
        return self._found.get(key)

    def fill(self, pool: Executor, work: Callable[[Job], Any], jobs: Mapping[str, Job], what: str) -> None:
        """Do those jobs in a pool whose keys have no result yet, with a progress bar.

        Args:
            pool: Works on them; in which order they end makes no difference.
            work: Gives a result as JSON.
            jobs: By key.
            what: Is being done, for the bar.

        Raises:
            BaseException: Of the first job that failed, once those that were running have ended and are kept.
        """
        todo = {key: job for key, job in jobs.items() if key not in self._found}
        if not todo:
            return
        futures = {pool.submit(work, job): key for key, job in todo.items()}
        failed: list[Future[Any]] = []
        try:
            for future in track(as_completed(futures), what, total=len(futures)):
                if future.cancelled():
                    continue
                if future.exception():
                    failed.append(future)
                    _cancel(futures)
                else:
                    self._keep(futures[future], future.result())
        finally:
            _cancel(futures)
        if failed:
            failed[0].result()

    def _keep(self, key: str, value: Any) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps({"key": key, "value": value}) + "\n")
        self._found[key] = value


def _cancel(futures: Iterable[Future[Any]]) -> None:
    """Those that have not begun."""
    for future in futures:
        future.cancel()
