"""The journal of a long study: what is written is never done again, and what is cut off is."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orbital_ops_env.studies.journal import Journal


class Counting:
    """Work that is counted."""

    def __init__(self) -> None:
        self.done: list[int] = []

    def __call__(self, job: int) -> dict[str, int]:
        self.done.append(job)
        if job < 0:
            raise RuntimeError("no such job")
        return {"square": job * job}


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_what_was_found_is_found_again(tmp_path: Path, pool) -> None:
    path, work = tmp_path / "deep" / "journal.jsonl", Counting()
    Journal(path).fill(pool, work, {"two": 2, "three": 3}, "squares")
    later = Journal(path)
    later.fill(pool, work, {"two": 2, "three": 3, "four": 4}, "squares")
    assert sorted(work.done) == [2, 3, 4]
    assert [later.get(key) for key in ("two", "three", "four", "five")] == [
        {"square": 4},
        {"square": 9},
        {"square": 16},
        None,
    ]


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_line_that_was_cut_off_is_done_again(tmp_path: Path, pool, cut: int) -> None:
    path, work = tmp_path / "journal.jsonl", Counting()
    Journal(path).fill(pool, work, {"two": 2}, "squares")
    first = path.read_bytes()
    Journal(path).fill(pool, work, {"three": 3}, "squares")
    path.write_bytes(path.read_bytes()[:-cut])
    later = Journal(path)
    assert later.get("two") == {"square": 4}
    assert later.get("three") is None
    assert path.read_bytes() == first
    later.fill(pool, work, {"two": 2, "three": 3}, "squares")
    assert Journal(path).get("three") == {"square": 9}


def test_what_was_done_before_a_failure_is_kept(tmp_path: Path, pool) -> None:
    path = tmp_path / "journal.jsonl"
    with pytest.raises(RuntimeError, match="no such job"):
        Journal(path).fill(pool, Counting(), {"two": 2, "bad": -1, "three": 3}, "squares")
    assert Journal(path).get("two") == {"square": 4}


def test_what_was_running_beside_a_failure_is_kept(tmp_path: Path) -> None:
    """However it ends: a job that fails at once is told of only when the others have been written down."""
    path, counting = tmp_path / "journal.jsonl", Counting()

    def slowly(number: int) -> dict[str, int]:
        if number > 0:
            time.sleep(0.2)
        return counting(number)

    with ThreadPoolExecutor(2) as pool, pytest.raises(RuntimeError, match="no such job"):
        Journal(path).fill(pool, slowly, {"two": 2, "bad": -1}, "squares")
    assert Journal(path).get("two") == {"square": 4}
