"""What goes on beside the resets: generations are made, and episodes that nobody steps any more are failures.

A generation that was lost with the process that made it is made again; the same outcomes give the same one.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from orbital_ops_env.curriculum.archive import Outcome
from orbital_ops_env.curriculum.certificate import Fly
from orbital_ops_env.curriculum.engine import Engine
from orbital_ops_env.curriculum.maker import Maker

LEASE_S: Final = 1800.0
"""[s] without a step after which an episode is a failure."""
LOOK_S: Final = 10.0
"""[s] between two looks for such episodes, and before a generation that could not be made is tried again."""


class Background:
    """Two threads: one makes the generations that wait to be made, one ends leases; begun at once.

    Args:
        engine: Has the generations.
        fly: Flies a mission; a function of a module, for other processes call it.
        workers: [-] processes that certify.
        lease_s: [s] without a step after which an episode is a failure.

    Raises:
        ValueError: There are no workers, or no time between two steps.
    """

    def __init__(self, engine: Engine, fly: Fly, workers: int, lease_s: float) -> None:
        if workers < 1:
            raise ValueError(f"{workers} processes to certify missions: expected at least 1")
        if lease_s <= 0:
            raise ValueError(f"a lease of {lease_s:g} s for an episode: expected more than 0")
        self._engine, self._fly, self._workers, self._lease_s = engine, fly, workers, lease_s
        self._closed = threading.Event()
        self._maker: Maker | None = None
        self._maker_lock = threading.Lock()
        self.making: str | None = None
        """The run whose next generation is being made."""
        engine.waiting.set()
        self._threads = [
            threading.Thread(target=self._repeat, args=(what, pause), daemon=True)
            for what, pause in ((self._make_all, engine.waiting), (self._expire, self._closed))
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop; a generation that is being made is made again next time."""
        self._closed.set()
        self._engine.waiting.set()
        self._end_maker()
        for thread in self._threads:
            thread.join()

    def _repeat(self, what: Callable[[], None], wanted: threading.Event) -> None:
        """Do something when it is wanted, and now and then; whatever goes wrong, it is tried again."""
        while not self._closed.is_set():
            try:
                what()
            except Exception:
                logging.getLogger(__name__).exception("tried again in %g s", LOOK_S)
                self._closed.wait(LOOK_S)
            wanted.wait(min(LOOK_S, self._lease_s))

    def _make_all(self) -> None:
        self._engine.waiting.clear()
        for run, generation in self._engine.archive.pending():
            if not self._make(run, generation):
                self._closed.wait(LOOK_S)

    def _make(self, run: str, generation: int) -> bool:
        """Make the generation after a closed one; False if it failed, and slots go on with the one before."""
        self.making, began = run, time.monotonic()
        try:
            made = self._begun_maker().make(self._engine.job(run, generation))
            with self._engine.archive.change():
                if self._engine.add(made):
                    told = {"after": generation, "seconds": time.monotonic() - began}
                    self._engine.archive.note(run, "made", told)
            return True
        except Exception as error:
            self._end_maker()
            if not self._closed.is_set():
                self._note_failure(run, {"after": generation, "error": repr(error)})
            return False
        finally:
            self.making = None

    def _begun_maker(self) -> Maker:
        """The process that makes generations, begun if there is none."""
        with self._maker_lock:
            if self._closed.is_set():
                raise RuntimeError("closed")
            self._maker = self._maker or Maker(self._fly, self._workers)
            return self._maker

    def _end_maker(self) -> None:
        """End the process; what it is at is lost."""
        with self._maker_lock:
            maker, self._maker = self._maker, None
            if maker:
                maker.close()

    def _note_failure(self, run: str, failure: dict[str, object]) -> None:
        """Keep what went wrong, once."""
        if self._engine.archive.events(run, "failed", "made")[-1:] != [failure]:
            self._engine.archive.note(run, "failed", failure)

    def _expire(self) -> None:
        """Let episodes be failures that nobody has stepped for long."""
        archive = self._engine.archive
        with archive.change():  # nobody steps meanwhile
            for seat, run, slot, member in archive.unseen(time.time() - self._lease_s):
                archive.leave(seat)
                self._engine.record(run, slot, member, Outcome(False, 0.0, "expired"))
