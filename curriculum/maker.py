"""The process that makes generations, with processes of its own that certify missions.

It takes jobs from its standard input and answers on its standard output, both pickled, so that it does not
depend on how the server was started. It ends with its input, or when its parent has ended.
"""

import contextlib
import functools
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Final

from orbital_ops_env.curriculum.certificate import Bar, Certificate, Fly, certify
from orbital_ops_env.curriculum.engine import Job, Made, make
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.splits import certificate_seeds

LOOK_S: Final = 2.0
"""[s] between two looks of a process for its parent."""
LONGEST_S: Final = 1800.0
"""[s] that the next certificate may take; then something hangs."""
NICE: Final = 10
"""By how much these processes give way to the server's."""


class Maker:
    """The server's end of it.

    Args:
        fly: Flies a mission; a function of a module, for another process calls it.
        workers: [-] processes that certify.
    """

    def __init__(self, fly: Fly, workers: int) -> None:
        command = [sys.executable, "-m", __name__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self._send((fly, workers))
        except BaseException:
            self.close()
            raise

    def make(self, job: Job) -> Made:
        """Make a generation.

        Raises:
            RuntimeError: The process has ended.
            Exception: What went wrong there.
        """
        assert self._process.stdout
        try:
            self._send(job)
            answer: Made | Exception = pickle.load(self._process.stdout)
        except (BrokenPipeError, EOFError) as error:
            raise RuntimeError("the process that makes generations has ended") from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """End the process; what it is at is lost."""
        self._process.kill()
        with contextlib.suppress(BrokenPipeError), self._process:  # of what it has not read yet
            pass  # its pipes are closed, and its end is waited for

    def _send(self, what: object) -> None:
        assert self._process.stdin
        pickle.dump(what, self._process.stdin)
        self._process.stdin.flush()


def main() -> None:
    """Answer until there are no more jobs."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints must not print into an answer
    os.nice(NICE)
    _attend(os.getppid())
    fly, workers = pickle.load(sys.stdin.buffer)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, spawn, _attend, (os.getpid(),)) as pool:
        while job := _next():
            certify_all = functools.partial(_certificates, pool, fly, job.run.preset.bar)
            pickle.dump(_answer(job, certify_all), answers)
            answers.flush()


def _next() -> Job | None:
    try:
        return pickle.load(sys.stdin.buffer)
    except EOFError:
        return None


def _answer(job: Job, certify_all: functools.partial[list[Certificate]]) -> Made | Exception:
    try:
        return make(job, certify_all)
    except Exception as error:  # for the server to tell of
        return error


def _certificates(pool: Executor, fly: Fly, bar: Bar, missions: Sequence[MissionSpec]) -> list[Certificate]:
    flying = [pool.submit(certificate, fly, bar, each) for each in missions]
    return [each.result(LONGEST_S) for each in flying]


def certificate(fly: Fly, bar: Bar, spec: MissionSpec) -> Certificate:
    """A mission's certificate for a curriculum."""
    return certify(spec, fly, certificate_seeds(spec, bar.seeds), bar)


def _attend(parent: int) -> None:
    """End when a parent has: one that is killed cannot say so."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main()
