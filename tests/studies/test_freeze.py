"""The freeze: what is kept depends on the candidates alone, and a killed freeze goes on where it was."""

import functools
import hashlib
import json
import lzma
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbital_ops_env.curriculum.certificate import SPLIT
from orbital_ops_env.missions import ood
from orbital_ops_env.missions.catalog import FAMILIES, LEVELS, generate
from orbital_ops_env.missions.likeness import Missions
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.splits import (
    FIRST_SEEDS,
    FROZEN_SPLITS,
    Task,
    certificate_seeds,
    decode,
    episode_seed,
)
from orbital_ops_env.server import flight
from orbital_ops_env.studies import candidates, figures, freeze, freeze_figure
from orbital_ops_env.studies.candidates import (
    PATIENCE,
    Candidate,
    Cell,
    Certificates,
    Certified,
    settled,
    unfilled,
    walk,
)
from orbital_ops_env.studies.freeze import Options, cells
from orbital_ops_env.studies.journal import Journal

ACCEPTED = Certified("accepted", 16, 16, (), None)
UNSOLVED = Certified("unsolved", 3, 5, (11, 12), None)
TRIVIAL = Certified("trivial", 0, 0, (), "borrowed")
VERDICTS = (ACCEPTED, UNSOLVED, TRIVIAL)
EVERYTHING = Options(
    list(FROZEN_SPLITS), list(FAMILIES), list(LEVELS), None, 3, 40, None, None, Path("journal")
)


@functools.cache
def mission(number: int) -> MissionSpec:
    return generate("retarget-v0", 1, number)


def cell(name: str, wanted: int, numbers: Sequence[int]) -> Cell:
    """A cell whose candidates are missions of given numbers, then missions of their own."""
    own = 1000 * (1 + ord(name))
    return Cell("val", name, wanted, lambda n: mission(numbers[n] if n < len(numbers) else own + n))


class Revealed:
    """Certificates that come in batches of any size, whatever was asked for first."""

    def __init__(
        self, verdict: Callable[[MissionSpec], Certified], batches: Callable[[int], list[int]]
    ) -> None:
        self._verdict = verdict
        self._batches = batches
        self._found: dict[str, Certified] = {}

    def of(self, spec: MissionSpec) -> Certified | None:
        return self._found.get(spec.content_hash)

    def certify(self, pool: object, specs: Sequence[MissionSpec]) -> None:
        for place in self._batches(len(specs)):
            self._found[specs[place].content_hash] = self._verdict(specs[place])


def one_by_one(todo: Sequence[Cell], verdict: Callable[[MissionSpec], Certified]) -> list[MissionSpec]:
    """What is kept if every candidate is certified before the next is looked at."""
    missions, kept = Missions(), list[MissionSpec]()
    for each in todo:
        full, number = len(kept) + each.wanted, 0
        while len(kept) < full and number < PATIENCE * each.wanted:
            spec = each.draw(number)
            number += 1
            if not missions.near(spec) and verdict(spec).verdict == "accepted":
                missions.add(spec)
                kept.append(spec)
    return kept


# -- the walk ----------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=50)
def test_what_is_kept_does_not_depend_on_the_order_of_certificates(data: st.DataObject) -> None:
    numbers = st.lists(st.integers(0, 12), max_size=6)
    todo = [cell(name, data.draw(st.integers(1, 4)), data.draw(numbers)) for name in "abc"]
    verdicts = data.draw(st.lists(st.sampled_from(VERDICTS), min_size=20, max_size=20))

    def verdict(spec: MissionSpec) -> Certified:
        return verdicts[spec.seed] if spec.seed < len(verdicts) else ACCEPTED

    def batches(count: int) -> list[int]:
        return data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True))

    seen = settled(todo, Revealed(verdict, batches), None)  # type: ignore[arg-type]
    assert [each.spec for each in seen if each.kept] == one_by_one(todo, verdict)
    assert all(each.near_duplicate or each.certified == verdict(each.spec) for each in seen)


def test_a_cell_that_cannot_be_filled_is_given_up_and_says_why() -> None:
    todo = [cell("a", 2, [1, 2]), cell("b", 1, [3])]
    seen = walk(todo, lambda spec: ACCEPTED if spec.seed == 3 else UNSOLVED)
    assert unfilled(todo, seen) == [
        f"val, a: 0 of 2 tasks after {2 * PATIENCE} candidates: {2 * PATIENCE} unsolved, 0 trivial, 0 near"
    ]
    assert [each.spec.seed for each in seen if each.kept] == [3]


def test_the_same_mission_is_not_frozen_twice() -> None:
    todo = [cell("a", 2, [1, 1, 2]), cell("b", 1, [2, 1, 3])]
    seen = walk(todo, lambda spec: ACCEPTED)
    assert [each.spec.seed for each in seen] == [1, 1, 2, 2, 1, 3]
    assert [each.near_duplicate for each in seen] == [False, True, False, True, True, False]


def test_what_is_kept_is_written_with_the_episode_seeds_of_its_content(tmp_path: Path) -> None:
    seen = walk([cell("a", 2, [1, 2])], lambda spec: UNSOLVED if spec.seed == 1 else ACCEPTED)
    kept = [each.spec for each in seen if each.kept]
    manifest = freeze.write(seen, ["something"], tmp_path, {"command": "make freeze"})
    content = lzma.decompress((tmp_path / "val.jsonl.xz").read_bytes())
    assert decode(content) == tuple(Task(spec, episode_seed(spec)) for spec in kept)
    assert manifest["splits"]["val"] == {"tasks": 2, "sha256": hashlib.sha256(content).hexdigest()}
    assert manifest["splits"]["test"]["tasks"] == 0
    assert json.loads((tmp_path / "manifest.json").read_text()) == manifest


# -- certificates ------------------------------------------------------------------------------


def test_certificates_are_kept_by_mission_bar_and_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flown: list[str] = []

    def certified(spec: MissionSpec) -> dict[str, Any]:
        flown.append(spec.content_hash)
        return {"verdict": "unsolved", "solved": 3, "flown": 5, "lost": [11, 12], "trivial_by": None}

    monkeypatch.setattr(candidates, "certified", certified)
    specs = [mission(1), mission(2)]
    with ThreadPoolExecutor(1) as pool:
        for source in ("one", "one", "two"):
            certificates = Certificates(Journal(tmp_path / "journal.jsonl"), source)
            certificates.certify(pool, specs)
            assert certificates.of(mission(1)) == UNSOLVED
            assert certificates.of(mission(3)) is None
    assert flown == [spec.content_hash for spec in specs] * 2


def test_a_real_certificate_flies_seeds_that_nobody_is_scored_on(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, flown, by_name = mission(1), set[int](), flight.by_name

    def fly(spec: MissionSpec, policy: str, seed: int) -> flight.Flight:
        flown.add(seed)
        return by_name(spec, policy, seed)

    monkeypatch.setattr(flight, "by_name", fly)
    told = Certified(**candidates.certified(spec))
    assert told == ACCEPTED
    assert flown == set(certificate_seeds(spec, SPLIT.seeds))
    assert episode_seed(spec) not in flown


def test_the_script_of_another_mission_is_flown_once_for_all_episode_seeds() -> None:
    flight._sent.cache_clear()
    for seed in range(4):
        flight.by_name(mission(5), "borrowed", seed)
    assert flight._sent.cache_info().misses == 1


def test_the_oracle_has_its_say_on_the_episodes_that_were_lost(tmp_path: Path) -> None:
    lost = Candidate(cell("a", 1, []), mission(1), False, UNSOLVED)
    certificates = Certificates(Journal(tmp_path / "journal.jsonl"), "source")
    with ThreadPoolExecutor(1) as pool:
        bounds = certificates.bound(pool, [lost], 4)
    assert bounds == {mission(1).content_hash: {"solved": 2, "flown": 2, "budget": 4}}


# -- cells -------------------------------------------------------------------------------------


def test_the_cells_are_those_of_the_design(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freeze, "RARE", ("hold-v0",))
    wanted: dict[str, int] = {}
    for each in cells(EVERYTHING):
        wanted[each.split] = wanted.get(each.split, 0) + each.wanted
    often = len(FAMILIES) - 1
    assert wanted == {
        "val": 30 * often + 20,
        "test": 100 * often + 40,
        "ood_fault": 64,
        "ood_composite": 64,
    }


def test_candidates_come_in_the_order_of_their_seeds_from_seeds_of_their_split() -> None:
    ordinary = [each for each in cells(EVERYTHING) if each.split in FIRST_SEEDS]
    assert len(ordinary) == 2 * len(FAMILIES) * len(LEVELS)
    for each in ordinary[:: len(LEVELS) - 1]:
        assert [each.draw(n).seed - FIRST_SEEDS[each.split] for n in range(3)] == [0, 1, 2]
        assert str(each.draw(0)).startswith(each.name)


def test_a_part_does_not_replace_the_splits(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["freeze", "--most", "1"])
    with pytest.raises(SystemExit):
        freeze.options()
    assert "name a folder with --into" in capsys.readouterr().err


# -- the whole ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_small_freeze_is_the_same_twice_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unseen(split: str, number: int) -> MissionSpec:
        """Stands for the candidates of new faults."""
        return generate("recovery-v0", 0, 70_000 + number)

    def frozen(folder: str, *more: str) -> dict[str, Any]:
        words = "freeze --families retarget-v0 --levels 0 --most 1 --splits val test ood_fault --workers 2"
        monkeypatch.setattr(sys, "argv", [*words.split(), "--into", str(tmp_path / folder), *more])
        freeze.main()
        return json.loads((tmp_path / folder / "manifest.json").read_text())

    monkeypatch.setattr(ood, "generate", unseen)
    monkeypatch.setenv("GIT_COMMIT", "0123456789ab")
    journal = tmp_path / "journal.jsonl"
    first = frozen("first", "--journal", str(journal))
    lines = journal.read_text().splitlines(keepends=True)
    assert len(lines) >= 3
    journal.write_text(lines[0] + lines[1][:40])
    second = frozen("second", "--journal", str(journal))
    assert second["splits"] == first["splits"]
    assert sorted(journal.read_text().splitlines(keepends=True)) == sorted(lines)
    assert first["commit"] == "0123456789ab"
    assert first["command"].startswith("make freeze ARGS='--families retarget-v0")
    assert {name: told["tasks"] for name, told in first["splits"].items()} == {
        "val": 1,
        "test": 1,
        "ood_fault": 1,
        "ood_composite": 0,
    }
    for name, told in first["splits"].items():
        content = lzma.decompress((tmp_path / "first" / f"{name}.jsonl.xz").read_bytes())
        assert hashlib.sha256(content).hexdigest() == told["sha256"]
        assert len(decode(content)) == told["tasks"]


# -- the figure --------------------------------------------------------------------------------


def test_the_figure_counts_what_became_of_candidates() -> None:
    """The one that fills its cell counts as flown, but not for the share: it is always accepted."""
    low, next_low, high = (Cell("test", f"retarget-v0 level={n}", 2, mission) for n in (1, 2, 8))
    ood = Cell("ood_fault", "ood_fault", 1, mission)

    def seen(where: Cell, level: int, number: int, certified: Certified | None) -> Candidate:
        return Candidate(where, generate("retarget-v0", level, number), certified is None, certified)

    found = freeze_figure.figure(
        [
            seen(low, 1, 0, ACCEPTED),
            seen(low, 1, 1, UNSOLVED),
            seen(low, 1, 2, TRIVIAL),
            seen(low, 1, 3, None),
            seen(low, 1, 4, ACCEPTED),
            seen(next_low, 2, 0, ACCEPTED),
            seen(next_low, 2, 1, ACCEPTED),
            seen(high, 8, 0, ACCEPTED),
            seen(ood, 3, 0, UNSOLVED),
            seen(ood, 3, 1, ACCEPTED),
        ],
        {generate("retarget-v0", 1, 1).content_hash: {"solved": 1, "flown": 2, "budget": 40}},
    )
    assert list(found["acceptance"]) == ["retarget-v0"]
    mine = found["acceptance"]["retarget-v0"]
    told = {"acceptance": 1 / 3, "flown": 4, "accepted": 2, "unsolved": 1, "trivial": 1, "near_duplicate": 1}
    assert mine["levels"]["1"] == told
    assert mine["counts"]["low"] == told | {"acceptance": 0.5, "flown": 6, "accepted": 4}
    assert (mine["low"], mine["high"]) == (pytest.approx(2 / 3), None), "the mean over levels"
    assert found["ood"]["ood_fault"]["acceptance"] == 0.0
    assert [(each["split"], each["seed"], each["solved"], each["flown"]) for each in found["refused"]] == [
        ("test", 1, 3, 5),
        ("ood_fault", 0, 3, 5),
    ]
    assert [each["oracle"] for each in found["refused"]] == [{"solved": 1, "flown": 2, "budget": 40}, None]
    assert freeze_figure.table(found).row_count == 3
    json.dumps(found, allow_nan=False)


def test_the_oracle_tries_the_first_of_each_cell() -> None:
    todo = [cell("a", 3, []), cell("b", 3, [])]
    seen = [Candidate(each, mission(n), False, UNSOLVED) for each in todo for n in range(5)]
    picked = freeze_figure.unsolved(seen, 2)
    assert [(each.cell.name, each.spec.seed) for each in picked] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert freeze_figure.unsolved(seen, 0) == []


@pytest.mark.parametrize(
    "changed", [{"most": 1}, {"oracle": 1}, {"budget": 3}, {"levels": [0]}, {"splits": ["val"]}]
)
def test_only_a_freeze_of_everything_as_it_should_be_replaces_the_splits(changed: dict[str, Any]) -> None:
    assert freeze.whole(EVERYTHING)
    assert not freeze.whole(replace(EVERYTHING, **changed))


def test_a_whole_freeze_wants_a_commit_to_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures, "commit", lambda: "0123456789ab-dirty")
    monkeypatch.setattr(sys, "argv", ["freeze"])
    with pytest.raises(SystemExit):
        freeze.options()
    assert "commit them first" in capsys.readouterr().err


def test_the_figure_of_a_whole_freeze_names_its_source() -> None:
    assert "client" in freeze.DECIDING
    assert all((figures.ROOT / source).exists() for source in freeze.DECIDING)
