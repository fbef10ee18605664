"""Slots, outcomes and generations: once, in order, and the same again."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orbital_ops_env.curriculum import operators
from orbital_ops_env.curriculum.archive import Archive, Outcome, Run
from orbital_ops_env.curriculum.certificate import Certificate, Flown
from orbital_ops_env.curriculum.database import IN_MEMORY, Database
from orbital_ops_env.curriculum.engine import Engine, Paused, make
from orbital_ops_env.curriculum.presets import PRESETS
from orbital_ops_env.curriculum.snapshot import PASSING, dump, replay, restore
from orbital_ops_env.curriculum.space import MissionSpace, flown_as
from orbital_ops_env.curriculum.tiers import levelled
from orbital_ops_env.missions.catalog import SHORT_FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.splits import held_out, task

WON, LOST = Outcome(True, 0.9, "succeeded"), Outcome(False, 0.1, "failed")
FAMILIES = ("detumble-v0", "retarget-v0", "hold-v0")


def certify(missions: Sequence[MissionSpec]) -> list[Certificate]:
    """Refuses one mission of five, whichever."""
    evidence = (Flown("reference", 1, True),)
    return [
        Certificate(
            each.content_hash, "unsolved" if int(each.content_hash, 16) % 5 == 0 else "accepted", evidence
        )
        for each in missions
    ]


def evolve(engine: Engine) -> None:
    """Make every generation that waits to be made."""
    for run, generation in engine.archive.pending():
        engine.add(make(engine.job(run, generation), certify))


def learn(engine: Engine, run: str, slots: Sequence[int], late: int = 7, seed: int = 0) -> None:
    """Fly groups whose members succeed half of the time at level 3; make generations each few slots."""
    rng = np.random.default_rng(seed)
    for slot in slots:
        spec = engine.assign(run, slot, 0).spec
        for member in rng.permutation(engine.archive.run(run).preset.members).tolist():
            won = bool(rng.random() < 1 / (1 + 2.0 ** (spec.level - 3)))
            engine.record(run, slot, member, Outcome(won, 0.8 if won else 0.1 * rng.random(), "timed_out"))
        if slot % late == 0:
            evolve(engine)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine with a file of its own."""
    with closing(Database(tmp_path / "runs.sqlite")) as database:
        yield Engine(Archive(database))


@pytest.fixture
def other() -> Iterator[Engine]:
    """Another one, in memory."""
    with closing(Database(IN_MEMORY)) as database:
        yield Engine(Archive(database))


def begin(engine: Engine, preset: str = "eva", **changes: object) -> Run:
    """A small run of a preset."""
    small = {"missions": 24, "members": 4, "window": 4} | changes
    run = Run("first", PRESETS[preset].model_copy(update=small), FAMILIES, 7)
    engine.create(run)
    return run


# -- slots -------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
def test_64_threads_that_ask_for_the_same_slots_are_told_the_same(engine: Engine, preset: str) -> None:
    begin(engine, preset)
    asked = [(slot, member) for slot in range(16) for member in range(4)]
    with ThreadPoolExecutor(64) as threads:
        told = list(threads.map(engine.assign, *zip(*(("first", *each) for each in asked), strict=True)))
    for slot in range(16):
        assert len({(t.spec.content_hash, t.episode_seed) for t in told[4 * slot : 4 * slot + 4]}) == 1
    assert len({t.episode_seed for t in told}) == 16
    assert len(engine.archive.database.rows("SELECT * FROM binding")) == 16


def test_every_slot_has_an_episode_seed_of_its_own_even_on_a_mission_that_comes_again(engine: Engine) -> None:
    begin(engine, missions=4)
    told = [engine.assign("first", slot, 0) for slot in range(12)]
    assert len({t.spec.content_hash for t in told}) == 4
    assert len({t.episode_seed for t in told}) == 12


@pytest.mark.parametrize(("slot", "member"), [(0, 4), (0, -1), (-1, 0)])
def test_a_slot_or_member_that_there_is_not_is_refused(engine: Engine, slot: int, member: int) -> None:
    begin(engine)
    with pytest.raises(ValueError, match="expected a slot from 0 on and a member from 0 to 3"):
        engine.assign("first", slot, member)


def test_an_unknown_run_is_refused_with_those_that_there_are(engine: Engine) -> None:
    with pytest.raises(LookupError, match="there is none yet"):
        engine.assign("first", 0, 0)
    begin(engine)
    with pytest.raises(LookupError, match="no run 'frist': expected one of first"):
        engine.assign("frist", 0, 0)


def test_a_run_of_the_same_name_or_without_missions_is_refused(engine: Engine) -> None:
    begin(engine)
    with pytest.raises(ValueError, match="there is a run 'first' already"):
        begin(engine)
    for families in ((), ("mission-ops-v0",), ("chess",), ("hold-v0", "hold-v0")):
        with pytest.raises(ValueError, match="expected some of detumble-v0"):
            engine.create(Run("second", PRESETS["eva"], families, 0))
    assert engine.archive.runs() == ["first"]


def test_a_paused_run_binds_no_new_slot_and_goes_on_with_the_others(engine: Engine) -> None:
    begin(engine)
    before = engine.assign("first", 0, 0)
    engine.archive.pause("first", True)
    assert engine.assign("first", 0, 1) == before
    engine.record("first", 0, 0, WON)
    with pytest.raises(Paused, match="resume the run"):
        engine.assign("first", 1, 0)
    engine.archive.pause("first", False)
    engine.assign("first", 1, 0)


# -- outcomes and generations ------------------------------------------------------------------


def test_the_first_outcome_of_a_member_stays(engine: Engine) -> None:
    begin(engine)
    engine.assign("first", 0, 0)
    engine.record("first", 0, 0, LOST)
    engine.record("first", 0, 0, WON)
    (row,) = engine.archive.database.rows("SELECT * FROM outcome")
    assert (row["success"], row["return"], row["reason"]) == (0, 0.1, "failed")


def test_an_outcome_of_a_slot_that_nobody_asked_for_is_none(engine: Engine) -> None:
    begin(engine)
    assert not engine.record("first", 5, 0, WON)
    assert not engine.archive.database.rows("SELECT * FROM outcome")


def test_a_generation_is_closed_by_the_group_with_which_nine_tenths_are_whole(engine: Engine) -> None:
    begin(engine, missions=10, members=2)
    for slot in range(10):
        engine.assign("first", slot, 0)
    for slot in range(9):
        for member in (0, 1):
            assert not engine.archive.pending()
            assert not engine.waiting.is_set()
            engine.record("first", slot, member, WON)
    assert engine.archive.pending() == [("first", 0)]
    assert engine.waiting.is_set()
    engine.waiting.clear()
    for slot in range(9, 20):  # tell nobody again: a generation that cannot be made is not tried at every one
        engine.assign("first", slot, 0)
        engine.record("first", slot, 0, WON)
    assert not engine.waiting.is_set()


def test_slots_that_come_while_a_generation_is_made_repeat_what_taught_most_and_do_not_count(
    engine: Engine,
) -> None:
    begin(engine, missions=8, members=4)
    best = [engine.assign("first", slot, 0).spec.content_hash for slot in range(8)][:2]
    for slot in range(8):
        for member in range(4):  # one of four succeeds on the first two missions, all on the others
            engine.record("first", slot, member, WON if slot > 1 or member == 0 else LOST)
    told = [engine.assign("first", slot, 0).spec.content_hash for slot in range(8, 14)]
    assert Counter(told) == {best[0]: 3, best[1]: 3}
    before = engine.job("first", 0)
    engine.record("first", 8, 0, LOST)
    assert engine.job("first", 0) == before


def test_slots_beyond_a_generation_that_taught_nothing_are_all_of_its_missions(engine: Engine) -> None:
    begin(engine, missions=8, members=2)
    told = [engine.assign("first", slot, 0).spec.content_hash for slot in range(8)]
    for slot in range(8):
        for member in (0, 1):
            engine.record("first", slot, member, LOST)
    assert sorted(engine.assign("first", slot, 0).spec.content_hash for slot in range(8, 16)) == sorted(told)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_slot_far_beyond_those_that_are_bound_is_refused(engine: Engine, preset: str) -> None:
    begin(engine, preset)
    engine.assign("first", 4096, 0)
    with pytest.raises(ValueError, match="slot 100000 of run 'first': expected 4097 at most, 4096 beyond"):
        engine.assign("first", 100_000, 0)
    assert len(engine.archive.database.rows("SELECT * FROM binding")) == 1


@pytest.mark.parametrize("preset", ["eva", "eva_literal"])
def test_generations_move_on_and_no_mission_is_made_twice(engine: Engine, preset: str) -> None:
    run = begin(engine, preset)
    learn(engine, "first", range(120))
    last = engine.archive.last_generation("first")
    assert last
    assert last >= 3
    made = {row["child"] for row in engine.archive.database.rows("SELECT child FROM edge")}
    generations = [engine.archive.entries("first", generation) for generation in range(last + 1)]
    for before, entries in itertools.pairwise(generations):
        hashes = {entry.mission.content_hash for entry in entries}
        assert len(entries) == len(hashes) == run.preset.missions
        assert {entry.family for entry in entries} <= set(FAMILIES)
        new = hashes - {entry.mission.content_hash for entry in before}
        assert new <= made
        assert 0.5 * run.preset.missions <= len(new) <= 0.8 * run.preset.missions + 1
    specs = {e.mission.content_hash: e.mission for entries in generations for e in entries}.values()
    assert len({flown_as(spec) for spec in specs}) == len(specs)


def test_a_generation_keeps_its_size_though_its_last_groups_are_late(engine: Engine) -> None:
    run = begin(engine, missions=10, members=2)
    for base in range(0, 40, 10):
        for slot in range(base, base + 10):
            engine.assign("first", slot, 0)
        for slot in range(base, base + 9):
            for member, outcome in enumerate((WON, LOST)):
                engine.record("first", slot, member, outcome)
        evolve(engine)
    assert engine.archive.last_generation("first") == 4
    assert {len(engine.archive.places("first", generation)) for generation in range(5)} == {
        run.preset.missions
    }


def test_a_group_that_is_not_whole_says_nothing_of_its_mission(engine: Engine) -> None:
    run = begin(engine, missions=4, members=2)
    for slot in range(4):
        engine.assign("first", slot, 0)
        engine.record("first", slot, 0, WON)
    engine.record("first", 0, 1, LOST)
    assert [each.successes for each in engine.graded(run, 0, None)] == [(True, False)]


def test_lineages_have_no_cycles_however_often_missions_are_eased_and_hardened(engine: Engine) -> None:
    begin(engine, missions=32, members=2, harden=0.5, certified=False)
    learn(engine, "first", range(32 * 6), late=16)
    parents = {row["child"]: row["parent"] for row in engine.archive.database.rows("SELECT * FROM edge")}
    assert len(parents) > 60
    for child in parents:
        seen = [child]
        while (parent := parents.get(seen[-1])) is not None:
            assert parent not in seen
            seen.append(parent)


@pytest.mark.parametrize("flown", [0, 1], ids=["nobody", "one member of two"])
def test_a_generation_whose_groups_never_become_whole_is_over_after_as_many_slots_again(
    engine: Engine, flown: int
) -> None:
    begin(engine, missions=8, members=2)
    for slot in range(17):
        assert not engine.archive.pending(), slot
        engine.assign("first", slot, 0)
        for member in range(flown):
            engine.record("first", slot, member, WON)
        if slot == 15:
            break
    assert engine.archive.pending() == [("first", 0)]
    evolve(engine)
    assert sorted(engine.archive.places("first", 1)) == sorted(engine.archive.places("first", 0))
    assert lasting(replay(engine.archive, "first")) == lasting(engine.archive)


@pytest.mark.parametrize("order", [range(8), [0, 1, 6, 5, 2, 4, 3, 7], [7, 6, 5, 4, 3, 2, 1, 0]])
def test_slots_are_the_same_missions_in_whatever_order_they_are_asked_for(
    engine: Engine, order: Sequence[int]
) -> None:
    begin(engine, missions=8)
    told = {slot: engine.assign("first", slot, 0).spec.content_hash for slot in order}
    assert [told[slot] for slot in range(8)] == engine.archive.places("first", 0)


@pytest.mark.parametrize("preset", PRESETS)
def test_no_mission_of_the_tables_is_near_a_held_out_one(engine: Engine, preset: str) -> None:
    begin(engine, preset, missions=256)
    told = [engine.assign("first", slot, 0).spec for slot in range(256)]
    assert not [spec for spec in told if held_out().near(spec)]


def test_a_mission_without_a_certificate_is_in_no_generation(engine: Engine) -> None:
    begin(engine)
    learn(engine, "first", range(90))
    refused = {
        row["hash"]
        for row in engine.archive.database.rows("SELECT hash FROM certificate WHERE verdict != 'accepted'")
    }
    placed = {row["mission"] for row in engine.archive.database.rows("SELECT mission FROM place")}
    assert refused
    assert not refused & placed


@pytest.mark.parametrize("split", ["val", "test", "ood_fault", "ood_composite"])
def test_no_mission_of_a_held_out_split_or_near_to_one_is_admitted(split: str) -> None:
    spec = task(split, 0).spec
    near = spec.model_copy(update={"seed": spec.seed + 1})
    assert near.content_hash != spec.content_hash
    assert held_out().near(near)
    assert MissionSpace(set(), None).admits([spec, near]) == [False, False]
    more_gas = replace(spec.start, propellant_kg=spec.start.propellant_kg + 2e-4)
    assert not any(MissionSpace(set(), None).admits([near.model_copy(update={"start": more_gas})]))


@pytest.mark.parametrize("operator", ["target", "rule", "fault"])
@pytest.mark.parametrize("level", [1, 4, 7])
def test_a_mission_that_an_edit_and_its_inverse_made_is_not_new(
    operator: str, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operators, "OPERATORS", {operator: operators.OPERATORS[operator]})
    rng, seen = np.random.default_rng(0), 0
    for seed in range(90_000, 90_010):
        spec = levelled(generate("retarget-v0", level, seed).model_copy(update={"faults": ()}))
        space = MissionSpace({flown_as(spec)}, None)
        if (harder := space.edit(rng, spec, True)) and (back := space.edit(rng, harder, False)):
            assert space.admits([harder, back, harder]) == [True, False, False]
            seen += 1
    assert seen > 2


def test_an_edited_mission_has_the_commands_of_its_level() -> None:
    rng, told = np.random.default_rng(0), set[tuple[bool, int]]()
    space = MissionSpace(set(), None)
    for family, level, seed in itertools.product(SHORT_FAMILIES, (1, 4, 6, 9), range(90_000, 90_005)):
        if edited := space.edit(rng, generate(family, level, seed), True):
            told.add((edited.level < 5, edited.turns))
    assert told == {(True, 8), (False, 12)}


def test_the_ladder_climbs_on_good_groups(engine: Engine) -> None:
    begin(engine, "ladder030")
    told: list[int] = []
    for slot in range(24):
        told.append(engine.assign("first", slot, 0).spec.level)
        for member in range(4):
            engine.record("first", slot, member, WON if told[-1] < 3 else LOST)
    assert told == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 12


# -- the same again ----------------------------------------------------------------------------


def lasting(archive: Archive) -> str:
    tables = json.loads(dump(archive, "first"))["tables"]
    return json.dumps({name: rows for name, rows in tables.items() if name not in PASSING})


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("late", [1, 7, 30])
def test_a_replay_of_the_log_gives_the_archive_byte_for_byte(engine: Engine, preset: str, late: int) -> None:
    begin(engine, preset)
    learn(engine, "first", range(100), late=late)
    assert lasting(replay(engine.archive, "first")) == lasting(engine.archive)


def test_two_engines_that_hear_the_same_make_the_same_and_another_seed_others(
    engine: Engine, other: Engine
) -> None:
    run = begin(engine)
    learn(engine, "first", range(60))
    begin(other)
    learn(other, "first", range(60))
    assert dump(other.archive, "first") == dump(engine.archive, "first")
    other.create(Run("second", run.preset, run.families, run.seed + 1))
    assert not set(other.archive.places("second", 0)) & set(engine.archive.places("first", 0))


def test_a_snapshot_put_back_is_the_run_as_it_was_and_goes_on_the_same(engine: Engine) -> None:
    begin(engine)
    learn(engine, "first", range(40))
    kept = dump(engine.archive, "first")
    learn(engine, "first", range(40, 80), seed=1)
    after = dump(engine.archive, "first")
    restore(engine.archive, "first", kept)
    assert dump(engine.archive, "first") == kept
    learn(engine, "first", range(40, 80), seed=1)
    assert dump(engine.archive, "first") == after


def test_a_snapshot_can_be_put_where_there_was_no_run(engine: Engine, other: Engine) -> None:
    begin(engine)
    learn(engine, "first", range(30))
    restore(other.archive, "first", dump(engine.archive, "first"))
    assert dump(other.archive, "first") == dump(engine.archive, "first")


def emptied(kept: bytes, *tables: str) -> bytes:
    told = json.loads(kept)
    told["tables"].update({table: [] for table in tables})
    return json.dumps(told).encode()


def with_mission(kept: bytes, spec: MissionSpec) -> bytes:
    told = json.loads(kept)
    told["tables"]["mission"].append(["first", spec.content_hash, spec.canonical_json, flown_as(spec)])
    return json.dumps(told).encode()


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda kept: b"",
    "no object": lambda kept: b"[]",
    "an empty object": lambda kept: b"{}",
    "cut short": lambda kept: kept[:-10],
    "of another run": lambda kept: kept.replace(b'"run":"first"', b'"run":"other"', 1),
    "with rows of another run": lambda kept: kept.replace(b'"binding":[["first"', b'"binding":[["other"', 1),
    "of another format": lambda kept: kept.replace(b'"format":1', b'"format":2', 1),
    "with another mission": lambda kept: kept.replace(b"propellant_kg", b"propellant_mg", 1),
    "without a table": lambda kept: kept.replace(b'"place"', b'"plaice"', 1),
    "with a slot beyond all numbers": lambda kept: kept.replace(
        b'"binding":[["first",0', b'"binding":[["first",%d' % 2**70, 1
    ),
    "too deep": lambda kept: b"[" * 100_000,
    "of a family that there is not": lambda kept: kept.replace(b"hold-v0", b"golf-v0", 1),
    "without generations": lambda kept: emptied(kept, "generation", "place", "binding", "outcome"),
    "of a generation without missions": lambda kept: emptied(kept, "place", "binding", "outcome"),
    "with a place beyond the generation": lambda kept: kept.replace(
        b'"place":[["first",0,0,', b'"place":[["first",0,99,', 1
    ),
    "with a held-out mission": lambda kept: with_mission(kept, task("val", 0).spec),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_what_is_no_snapshot_is_refused_and_changes_nothing(
    engine: Engine, spoil: Callable[[bytes], bytes]
) -> None:
    begin(engine)
    learn(engine, "first", range(30))
    kept = dump(engine.archive, "first")
    assert spoil(kept) != kept
    with pytest.raises(ValueError, match="not a snapshot of run 'first'"):
        restore(engine.archive, "first", spoil(kept))
    assert dump(engine.archive, "first") == kept


def test_a_generation_made_for_another_state_of_the_run_is_not_taken(engine: Engine) -> None:
    begin(engine, missions=8)
    learn(engine, "first", range(4), late=100)
    kept = dump(engine.archive, "first")
    learn(engine, "first", range(4, 8), late=100)
    made = make(engine.job("first", 0), certify)
    restore(engine.archive, "first", kept)
    assert not engine.add(made)
    assert engine.archive.last_generation("first") == 0
    learn(engine, "first", range(4, 8), late=100, seed=5)
    assert not engine.add(made)
    assert engine.archive.last_generation("first") == 0
    evolve(engine)
    assert engine.archive.last_generation("first") == 1


# -- one file, one process, no loss ------------------------------------------------------------


def test_a_file_belongs_to_one_process(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "runs.sqlite"
    database = Database(path)
    with pytest.raises(RuntimeError, match="in use by another server"):
        Database(path)
    database.close()
    Database(path).close()


def test_what_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database at all, but long enough to be read as the head of one\n" * 20)
    for _ in range(2):  # and nobody has it after that
        with pytest.raises(RuntimeError, match=r"notes\.txt is no database of curricula: file is not"):
            Database(path)


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="is no database of curricula: unable to open"):
            Database(tmp_path)


def test_what_could_not_be_kept_is_not_kept_by_what_comes_after_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with closing(Database(path)) as database:
        pages = database.row("PRAGMA page_count")[0]
        database.rows(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(Database.Error, match="full"), database.change():
            database.add("run", "first", "x" * 100_000, "[]", 0, 0)
        with database.change():
            database.add("run", "other", "{}", "[]", 0, 0)
    with closing(Database(path)) as database:
        assert [row["id"] for row in database.rows("SELECT id FROM run")] == ["other"]


LOOP = """
import sys
from orbital_ops_env.curriculum.archive import Archive, Outcome, Run
from orbital_ops_env.curriculum.database import Database
from orbital_ops_env.curriculum.engine import Engine
from orbital_ops_env.curriculum.presets import PRESETS
engine = Engine(Archive(Database(sys.argv[1])))
engine.create(Run("first", PRESETS["eva"].model_copy(update={"missions": 16, "members": 2}), ("hold-v0",), 0))
for slot in range(10**6):
    print("bound", slot, engine.assign("first", slot, 0).spec.content_hash, flush=True)
    for member in (0, 1):
        engine.record("first", slot, member, Outcome(True, 0.9, "succeeded"))
        print("ended", slot, member, flush=True)
"""


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.35])
def test_whatever_was_told_before_a_kill_is_there_after_it(tmp_path: Path, seconds: float) -> None:
    path = tmp_path / "runs.sqlite"
    with subprocess.Popen([sys.executable, "-c", LOOP, str(path)], stdout=subprocess.PIPE, text=True) as loop:
        assert loop.stdout
        told = [loop.stdout.readline().split()]
        time.sleep(seconds)
        os.kill(loop.pid, signal.SIGKILL)
        told += [line.split() for line in loop.stdout.read().splitlines()]
    with closing(Database(path)) as database:
        check(Engine(Archive(database)), told)


def check(engine: Engine, told: list[list[str]]) -> None:
    ended = {
        (str(row["slot"]), str(row["member"]))
        for row in engine.archive.database.rows("SELECT slot, member FROM outcome")
    }
    for what, *rest in told:
        if what == "bound":
            bound = engine.archive.binding("first", int(rest[0]))
            assert bound
            assert bound.mission == rest[1]
        elif len(rest) == 2:  # a line may be cut
            assert tuple(rest) in ended
    assert lasting(replay(engine.archive, "first")) == lasting(engine.archive)
