"""What a run looks like from outside, against hand calculations."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.curriculum.archive import Archive, Outcome, Run
from orbital_ops_env.curriculum.certificate import Certificate, Flown
from orbital_ops_env.curriculum.creator import Entry
from orbital_ops_env.curriculum.database import IN_MEMORY, Database
from orbital_ops_env.curriculum.engine import Engine
from orbital_ops_env.curriculum.metrics import (
    Group,
    alarms,
    frontier,
    lineage,
    mission,
    missions,
    training_success,
    windows,
)
from orbital_ops_env.curriculum.presets import PRESETS
from orbital_ops_env.curriculum.space import Edge
from orbital_ops_env.missions.catalog import generate

WON, LOST = Outcome(True, 0.9, "succeeded"), Outcome(False, 0.1, "failed")


def seen(level: int, successes: int, flown: int = 8) -> Group:
    return Group(0, "m", "hold-v0", level, flown, successes, 0.5, True)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([seen(2, 8), seen(3, 4), seen(4, 0)], 3.0),
        ([seen(2, 8), seen(3, 8), seen(4, 0), seen(5, 0)], 3.5),
        ([seen(5, 4)], 5.0),
        ([seen(0, 0)], 0.0),
        ([seen(9, 8)], 9.0),
        ([seen(0, 8), seen(1, 8), seen(2, 8)], 2.0),
        ([seen(3, 0), seen(6, 0)], 3.0),
    ],
)
def test_the_frontier_is_where_half_succeed(groups: list[Group], expected: float) -> None:
    assert frontier(groups) == pytest.approx(expected, abs=0.05)


@given(st.lists(st.builds(seen, st.integers(0, 9), st.integers(0, 8)), min_size=1, max_size=20))
def test_the_frontier_is_a_level_and_mirrors_with_levels_and_outcomes(groups: list[Group]) -> None:
    mirrored = [seen(9 - group.level, group.flown - group.successes) for group in groups]
    levels = [group.level for group in groups]
    assert min(levels) <= frontier(groups) <= max(levels)
    assert frontier(mirrored) == pytest.approx(9 - frontier(groups), abs=1e-6)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with closing(Database(IN_MEMORY)) as database:
        yield Engine(Archive(database))


def begun(engine: Engine, **changes: object) -> Run:
    small = {"missions": 4, "members": 2} | changes
    run = Run("first", PRESETS["eva"].model_copy(update=small), ("hold-v0", "retarget-v0"), 0)
    engine.create(run)
    return run


def fly(engine: Engine, slot: int, *outcomes: Outcome) -> None:
    engine.assign("first", slot, 0)
    for member, outcome in enumerate(outcomes):
        engine.record("first", slot, member, outcome)


def test_a_window_counts_groups_by_what_became_of_them(engine: Engine) -> None:
    run = begun(engine)
    fly(engine, 0, WON, LOST)
    fly(engine, 1, WON, WON)
    fly(engine, 2, LOST, LOST)
    fly(engine, 3, WON)  # is still flown
    (told,) = windows(engine.archive, run)
    assert (told["window"], told["groups"], told["episodes"], told["repeated"]) == (0, 3, 6, 0)
    assert told["success"] == pytest.approx((0.5 + 1 + 0) / 3)
    assert told["return"] == pytest.approx((0.5 + 0.9 + 0.1) / 3)
    assert told["live"] == pytest.approx(1 / 3)
    assert told["estimates"] == [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert told["families"] == {"hold-v0": 2, "retarget-v0": 1}
    assert sum(told["levels"]) == 3
    assert told["lineage"] == 0.25
    assert told["certificates"] == {}


def test_a_run_without_generations_has_windows_of_as_many_slots(engine: Engine) -> None:
    run = Run("first", PRESETS["uniform"].model_copy(update={"missions": 2, "members": 2}), ("hold-v0",), 0)
    engine.create(run)
    for slot in range(5):
        fly(engine, slot, WON, LOST)
    assert [window["groups"] for window in windows(engine.archive, run)] == [2, 2, 1]


def test_a_mission_is_told_with_its_certificate_and_the_chain_of_its_edits(engine: Engine) -> None:
    run = begun(engine)
    root, child, grandchild = (generate("hold-v0", level, 5) for level in (0, 1, 2))
    edges = {
        child.content_hash: Edge(root, "gas", True),
        grandchild.content_hash: Edge(child, "dwell", False),
    }
    flown = (Flown("reference", 3, True), Flown("idle", 3, False))
    certificates = [
        Certificate(child.content_hash, "unsolved", flown[:1]),
        Certificate(grandchild.content_hash, "accepted", flown),
    ]
    entries = [Entry(grandchild, root.content_hash, "hold-v0")]
    engine.archive.add_generation("first", 1, entries, edges, certificates)
    fly(engine, 0, WON, LOST)
    told = mission(engine.archive, run, grandchild.content_hash)
    assert [(edge["operator"], edge["harder"]) for edge in told["lineage"]] == [
        ("dwell", False),
        ("gas", True),
    ]
    assert told["certificate"] == {
        "verdict": "accepted",
        "evidence": [["reference", 3, True], ["idle", 3, False]],
    }
    assert told["groups"] == [[1, 2]]
    (listed,) = missions(engine.archive, run, generation=1)
    assert (listed["level"], listed["groups"], listed["success"], listed["generation"]) == (2, 1, 0.5, 1)
    assert listed["root"] == root.content_hash
    assert len(lineage(engine.archive, run)) == 2
    with pytest.raises(LookupError, match="run 'first' has no generation 9: expected 0 to 1"):
        missions(engine.archive, run, generation=9)
    (window,) = windows(engine.archive, run)
    assert window["certificates"] == {"dwell": {"accepted": 1}, "gas": {"unsolved": 1}}


# -- alarms ------------------------------------------------------------------------------------


def window(**told: object) -> dict[str, object]:
    return {"groups": 4, "live": 0.5, "lineage": 0.1, "certificates": {}} | told


@pytest.mark.parametrize(
    ("told", "alarm"),
    [
        ([window()] * 3, None),
        ([window(live=0.2)] * 2, None),
        ([window(live=0.2)] * 2 + [window()], None),
        ([window(live=0.2)] * 2 + [window(live=0.0, groups=1)], None),
        ([window(live=0.2)] * 3, "few groups with both successes and failures: 0.20, 0.20, 0.20"),
        ([window(lineage=0.3)], "one lineage has 0.30 of the generation"),
        ([window(lineage=0.3), window()], None),
        ([window(certificates={"gas": {"accepted": 1, "unsolved": 9}})], "1 of 10 edited missions got"),
        ([window(certificates={"gas": {"accepted": 2}, "dwell": {"trivial": 8}})], None),
    ],
)
def test_what_is_wrong_is_told(engine: Engine, told: list[dict[str, object]], alarm: str | None) -> None:
    found = alarms(engine.archive, begun(engine), told)
    assert len(found) == (alarm is not None)
    assert alarm is None or found[0].startswith(alarm)


@pytest.mark.parametrize(
    ("reports", "alarm"),
    [
        ([(0.5, 0.3)], False),
        ([(0.5, 0.3), (0.4, 0.4)], True),
        ([(0.5, 0.3), (0.46, 0.4)], False),
        ([(0.5, 0.4), (0.4, 0.3)], False),
        ([(0.5, 0.3), (0.4, 0.4), (0.47, 0.5)], False),
        ([(0.5, 0.3), (0.48, 0.4), (0.46, 0.5), (0.44, 0.6)], True),
        ([(0.5, None), (0.4, 0.4)], True),
        ([(0.5, None), (0.46, 0.4)], False),
        ([(0.5, None), (0.4, None)], False),
    ],
)
def test_held_out_success_that_falls_while_training_rises_is_told(
    engine: Engine, reports: list[tuple[float, float | None]], alarm: bool
) -> None:
    run = begun(engine)
    for success, training in reports:
        engine.archive.note("first", "held_out", {"success": success, "training": training})
    assert len(alarms(engine.archive, run, [])) == alarm


def test_success_in_training_is_that_of_the_last_groups_whose_members_have_all_flown(engine: Engine) -> None:
    run = begun(engine)
    fly(engine, 0, WON)
    assert training_success(engine.archive, run) is None
    for slot, outcomes in enumerate([(WON, WON), (LOST, LOST), (LOST, LOST), (WON, LOST), (WON, LOST)]):
        fly(engine, slot + 1, *outcomes)
    fly(engine, 6, WON)
    assert training_success(engine.archive, run) == 0.25


def test_a_generation_that_could_not_be_made_is_told_until_it_is(engine: Engine) -> None:
    run = begun(engine)
    engine.archive.note("first", "failed", {"after": 0, "error": "EOFError()"})
    assert alarms(engine.archive, run, []) == ["no generation could be made after 0: EOFError()"]
    engine.archive.note("first", "made", {"after": 0, "seconds": 3.0})
    assert alarms(engine.archive, run, []) == []


def test_groups_that_are_not_whole_when_others_come_are_told(engine: Engine) -> None:
    run = begun(engine)
    for slot in range(12):
        fly(engine, slot, WON)
        assert bool(alarms(engine.archive, run, [])) == (slot >= 4)
    (alarm,) = alarms(engine.archive, run, [])
    assert alarm.startswith("only 0.00 of the groups that should be whole by now have 2 outcomes: expected")
    for slot in range(4, 8):
        engine.record("first", slot, 1, LOST)
    assert alarms(engine.archive, run, []) == []


def test_episodes_of_members_that_have_an_outcome_are_told(engine: Engine) -> None:
    run = begun(engine)
    fly(engine, 0, WON, LOST)
    engine.archive.note("first", "again", {"slot": 0, "member": 0})
    assert alarms(engine.archive, run, []) == []  # an answer that was lost
    engine.archive.note("first", "again", {"slot": 0, "member": 0})
    (alarm,) = alarms(engine.archive, run, [])
    assert alarm == "2 episodes were flown anew, of members that had one: expected new slots"
