"""Episodes of the reference to warm a model up with."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.commands import Coast, Slew, Unreadable, encode, parse
from orbital_ops_env.training.demonstrations import Demonstration, collect, garbled, misspelt, read, write
from orbital_ops_env.training.pool import EnvPool
from orbital_ops_env.training.slots import slot

REPLIES = [encode(Coast(duration_s=30)), encode(Slew(target="VEGA", rate_deg_s=0.5))]


@given(st.integers(0, 2**32), st.sampled_from(REPLIES))
def test_a_garbled_reply_is_never_a_command(seed: int, reply: str) -> None:
    assert isinstance(parse(garbled(np.random.default_rng(seed), reply)), Unreadable)


@given(st.integers(0, 2**32), st.sampled_from(REPLIES))
def test_a_misspelt_reply_is_a_letter_off(seed: int, reply: str) -> None:
    found = misspelt(np.random.default_rng(seed), reply)
    more, less = Counter(found) - Counter(reply), Counter(reply) - Counter(found)
    assert found != reply
    assert (more + less).total() <= 1
    assert found.startswith('{"')
    assert found.endswith("}")


@pytest.fixture(scope="module")
def collected(url: str) -> Any:
    with EnvPool(url, capacity=16) as pool:
        yield collect(pool, 40, seed=3)


def test_the_demonstrations_succeed_on_slots_of_the_easy_rung(collected: list[Demonstration]) -> None:
    slots = [slot(3, "easy", number, ("detumble-v0", "retarget-v0")) for number in range(64)]
    assert len(collected) == 40
    for each in collected:
        assert each.outcome == "succeeded"
        assert each.options in slots
        assert len(each.texts) == len(each.replies) == len(each.taught)
    assert any(not all(each.taught) for each in collected)
    assert sum(all(each.taught) for each in collected) > 30


def test_what_is_taught_is_a_command_and_what_is_not_is_answered(collected: list[Demonstration]) -> None:
    for each in collected:
        for reply, taught in zip(each.replies, each.taught, strict=True):
            assert not (taught and isinstance(parse(reply), Unreadable))
    assert any(
        isinstance(parse(reply), Unreadable) and "refused" in after
        for each in collected
        for reply, after in zip(each.replies, each.texts[1:], strict=False)
    )


def test_what_is_written_is_read_back(collected: list[Demonstration], tmp_path: Path) -> None:
    write(tmp_path / "new" / "shown.jsonl", collected)
    assert read(tmp_path / "new" / "shown.jsonl") == collected
