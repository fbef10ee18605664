"""The baselines: who flies what, what the numbers are, and what page and picture make of them."""

import json
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.client import PolicyView
from orbital_ops_env.commands import AnyCommand
from orbital_ops_env.missions import splits
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.missions.splits import Task
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.server.flight import fly
from orbital_ops_env.studies import (
    baselines,
    baselines_figure,
    baselines_page,
    baselines_plot,
    figures,
)
from orbital_ops_env.studies.baselines import Job, flown, indices, jobs, policies
from orbital_ops_env.studies.baselines_figure import (
    ATTACKED,
    LEADERBOARD,
    SHOWN,
    Row,
    acceptance,
    figure,
    numbers,
)
from orbital_ops_env.studies.zoo import RED_TEAM
from orbital_ops_env.training.results import interval, wilson

ACCEPTANCE = {family: {"low": 0.91, "high": 0.42} for family in FAMILIES}
TASK = Task(generate("retarget-v0", 2, 1), 77)


def rows(split: str, names: list[str]) -> list[Row]:
    """Two levels of every family: `reference` succeeds on both, `rules` on level 0, others on none."""
    won: dict[str, Callable[[int], bool]] = {
        "reference": lambda level: True,
        "rules": lambda level: level == 0,
    }
    told = (
        (n, f, level, won.get(n, lambda level: False)(level))
        for n, f, level in product(names, FAMILIES, (0, 9))
    )
    return [Row(split, n, f, level, success, 0.9 if success else 0.1) for n, f, level, success in told]


def whole() -> dict[str, Any]:
    """A figure of every split, as it is read again from its file."""
    told = [row for split in splits.SPLITS for row in rows(split, policies(split))]
    return json.loads(
        json.dumps({"command": "make baselines", "versions": {}, "acceptance": ACCEPTANCE} | figure(told))
    )


# -- who flies what ----------------------------------------------------------------------------


def test_every_policy_flies_a_task_on_its_own_episode() -> None:
    todo = jobs("test", [TASK])
    assert [job.policy for job in todo] == list(LEADERBOARD)
    flight = fly(TASK.spec, Reference(), 77)
    assert flown(Job("test", "reference", TASK)) == Row(
        "test", "reference", "retarget-v0", 2, flight.succeeded, flight.return_
    )
    assert [flown(job).success for job in todo if job.policy in ("idle", "fire", "safe_mode")] == [False] * 3


def test_the_red_team_flies_val_alone_and_nobody_twice() -> None:
    assert set(policies(ATTACKED)) == {*LEADERBOARD, *RED_TEAM}
    assert len(set(policies(ATTACKED))) == len(policies(ATTACKED))
    assert all(policies(split) == list(LEADERBOARD) for split in splits.SPLITS if split != ATTACKED)
    for name in ("prober", "borrowed", "dodger"):
        assert flown(Job(ATTACKED, name, TASK)).policy == name


def test_of_train_a_sample_is_flown_and_of_others_all() -> None:
    sample = indices("train", 100_000)
    assert sample == indices("train", 100_000) == sorted(set(sample))
    assert len(sample) == 200
    assert max(sample) > 50_000
    assert indices("val", 3) == [0, 1, 2]
    families = [splits.task("train", index).spec.family for index in sample[:40]]
    assert len(set(families)) >= 4


def test_what_goes_wrong_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaks(Reference):
        def act(self, view: PolicyView) -> AnyCommand:
            raise LookupError("no idea")

    monkeypatch.setattr(baselines, "POLICIES", {"breaks": Breaks})
    with pytest.raises(LookupError, match="no idea") as error:
        flown(Job("val", "breaks", TASK))
    assert error.value.__notes__ == ["breaks on val: retarget-v0 level=2 seed=1 episode_seed=77"]


# -- numbers -----------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=30))
def test_numbers_lie_in_their_intervals(results: list[tuple[bool, float]]) -> None:
    told = numbers([Row("val", "rules", "hold-v0", 1, success, return_) for success, return_ in results])
    won = sum(success for success, _ in results)
    assert told["success"] == won / len(results)
    assert told["success_ci95"] == wilson(won, len(results))
    assert told["return_ci95"] == interval([return_ for _, return_ in results])
    for key in ("success", "return"):
        low, high = told[f"{key}_ci95"]
        assert low - 1e-9 <= told[key] <= high + 1e-9


def test_the_figure_tells_of_splits_policies_families_and_levels() -> None:
    told = whole()
    assert set(splits.SPLITS) < set(told)
    rules = told["test"]["rules"]
    assert rules["success"] == 0.5
    assert rules["episodes"] == 2 * len(FAMILIES)
    assert rules["return"] == pytest.approx(0.5)
    cell = rules["families"]["hold-v0"]
    assert (cell["success"], cell["episodes"]) == (0.5, 2)
    assert {level: each["success"] for level, each in cell["levels"].items()} == {"0": 1.0, "9": 0.0}


def test_acceptance_is_that_of_the_freeze(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(figures, "DATA", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"freeze\.json: .*run `make freeze` first"):
        acceptance()
    for wrong in ({}, {"acceptance": {"hold-v0": {"low": 0.9}}}, {"acceptance": {"hold-v0": 0.9}}):
        (tmp_path / "freeze.json").write_text(json.dumps(wrong))
        with pytest.raises(ValueError, match=r"expected numbers `acceptance\.<family>\.low`"):
            acceptance()
    frozen = {"acceptance": {"hold-v0": {"low": 0.9, "high": 0.5, "levels": {}}}}
    (tmp_path / "freeze.json").write_text(json.dumps(frozen))
    assert acceptance() == {"hold-v0": {"low": 0.9, "high": 0.5}}


# -- page and picture --------------------------------------------------------------------------


def test_the_leaderboard_ranks_by_success() -> None:
    lines = baselines_page.leaderboard(whole(), SHOWN).splitlines()
    names = [line.split("`")[1] for line in lines[2:]]
    assert names[:2] == ["reference", "rules"]
    assert sorted(names) == sorted(LEADERBOARD)
    low, high = wilson(len(FAMILIES), 2 * len(FAMILIES))
    assert f"| `rules` | 0.50 [{low:.2f}, {high:.2f}] | 0.50 [" in lines[3]
    assert len({line.count("|") for line in lines}) == 1


def test_the_page_tells_of_every_split_the_red_team_and_acceptance() -> None:
    page = baselines_page.page(whole())
    heads = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert heads[0] == "`test`"
    assert sorted(heads) == sorted(
        [*(f"`{split}`" for split in splits.SPLITS), "Red team on `val`", "Candidates accepted"]
    )
    assert "| `hold-v0` | 0.91 | 0.42 |" in page
    assert "`late_dodger`" in page.split("## Red team")[1]
    part = baselines_page.page({name: told for name, told in whole().items() if name not in ("val", "test")})
    assert "Red team" not in part


def test_the_picture_is_drawn_and_the_same_twice(tmp_path: Path) -> None:
    first, second = (baselines_plot.draw(whole(), tmp_path / f"{n}.png").read_bytes() for n in range(2))
    assert first == second
    assert first.startswith(b"\x89PNG")
    assert set(baselines_plot.LINES) == set(LEADERBOARD)


def test_the_page_shows_the_committed_figure() -> None:
    assert baselines_page.page(figures.read(baselines_figure.NAME)) == baselines_page.PAGE.read_text()


# -- the command -------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "written"), [(["--tasks", "1"], 0), (["--splits", "val"], 0), ([], 1)])
def test_a_part_writes_nothing(
    options: list[str], written: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without flights: rows that are made up."""
    (tmp_path / "freeze.json").write_text(json.dumps({"acceptance": ACCEPTANCE}))

    def run(pool: object, names: list[str], tasks: int | None) -> list[Row]:
        return [row for split in names for row in rows(split, policies(split))]

    def draw(told: dict[str, Any]) -> Path:
        return tmp_path / "baselines.png"

    monkeypatch.setattr(sys, "argv", ["baselines", *options])
    monkeypatch.setattr(baselines, "run", run)
    monkeypatch.setattr(figures, "DATA", tmp_path)
    monkeypatch.setattr(baselines_page, "PAGE", tmp_path / "baselines.md")
    monkeypatch.setattr(baselines_plot, "draw", draw)
    baselines.main()
    assert (tmp_path / "baselines.json").exists() == (tmp_path / "baselines.md").exists() == bool(written)


def test_a_run_flies_the_tasks_of_its_splits() -> None:
    """Two real tasks of `train`, in this process."""

    class Here:
        map = staticmethod(map)

    told = baselines.run(Here(), ["train", "train"], 2)  # type: ignore[arg-type]
    tasks = [splits.task("train", index) for index in indices("train", splits.num_tasks("train"))[:2]]
    assert [(row.family, row.level) for row in told] == [
        (task.spec.family, task.spec.level) for task in tasks for _ in LEADERBOARD
    ]


def test_an_empty_split_is_refused_before_anything_is_flown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "num_tasks", lambda split: 0 if split == "test" else 3)  # pyright: ignore
    with pytest.raises(ValueError, match="no tasks in test: expected frozen ones, run `make freeze` first"):
        baselines.run(None, ["val", "test"], None)  # type: ignore[arg-type]
