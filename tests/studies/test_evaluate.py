"""Evaluation: the same rows with and without the wire, and a leaderboard from rows."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orbital_ops_env.client import PolicyView
from orbital_ops_env.commands import AnyCommand, Coast, parse
from orbital_ops_env.missions import splits
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.policies.rules import Rules
from orbital_ops_env.server.flight import replay
from orbital_ops_env.studies.evaluate import (
    EPISODE_STRIDE,
    FIRST_SEED,
    Job,
    environment_hash,
    evaluate,
    flown,
    jobs,
    leaderboard,
    main,
    read,
    resolve,
    tasks,
)


def command(policy: str, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    line = [
        sys.executable,
        "-m",
        "orbital_ops_env.studies.evaluate",
        policy,
        "--output",
        str(output),
        *options,
    ]
    return subprocess.run(line, capture_output=True, text=True, check=False)


Refused = Callable[..., str]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """What the command says as it ends in an error before it has begun."""

    def refused(policy: str, output: Path, *options: str) -> str:
        monkeypatch.setattr(sys, "argv", ["evaluate", policy, "--output", str(output), *options])
        with pytest.raises(SystemExit, match=r"^2$"):
            main()
        return capsys.readouterr().err

    return refused


def row(policy: str, seed: int, success: bool, family: str = "retarget-v0", **values: Any) -> dict[str, Any]:
    told = {"policy": policy, "family": family, "level": 0, "seed": seed, "success": success}
    return told | {"return": float(success), "turns": 4, "gas_g": 1.5} | values


@pytest.mark.parametrize("policy", ["reference", "random"])
def test_an_episode_is_the_same_row_over_the_wire(url: str, policy: str) -> None:
    for family, level in (("detumble-v0", 0), ("retarget-v0", 4)):
        near = Job(policy, family, level, 40_017, 5)
        far = Job(policy, family, level, 40_017, 5, url)
        assert flown(near) == flown(far)


def test_the_tasks_of_a_split_are_flown_on_their_own_episodes_near_and_far(url: str) -> None:
    for split, family in (("test", "retarget-v0"), ("ood_fault", "hold-v0")):
        near = tasks("rules", split, [family], [4])
        assert near
        for one in near[:2]:
            row = flown(one)
            frozen = splits.task(split, one.index)
            assert row == flown(replace(one, url=url))
            assert (row["split"], row["index"]) == (split, one.index)
            assert (row["spec_hash"], row["episode_seed"]) == (frozen.spec.content_hash, frozen.episode_seed)


def test_a_row_is_enough_to_fly_the_episode_again() -> None:
    told = flown(Job("rules", "retarget-v0", 4, 40_003, 8))
    sent = [parse(json.dumps(command)) for command in told["commands"]]
    flight = replay(generate("retarget-v0", 4, 40_003), sent, told["episode_seed"])
    assert flight.return_ == told["return"]
    assert flight.outcome == told["outcome"]
    assert flight.components == told["components"]
    assert flight.spec.content_hash == told["spec_hash"]
    assert len(sent) == told["turns"]


def test_jobs_are_each_mission_of_each_cell_with_its_own_episode_seeds() -> None:
    todo = jobs("rules", ["detumble-v0", "retarget-v0"], [0, 9], missions=3, episodes=2)
    assert len(set(todo)) == 2 * 2 * 3 * 2
    assert {job.seed for job in todo} == {FIRST_SEED, FIRST_SEED + 1, FIRST_SEED + 2}
    assert {job.episode_seed - job.seed for job in todo} == {0, EPISODE_STRIDE}


def test_a_policy_is_found_by_its_name_or_by_its_path() -> None:
    assert isinstance(resolve("rules"), Rules)
    assert isinstance(resolve("orbital_ops_env.policies.rules:Rules"), Rules)


@pytest.mark.parametrize(
    "name",
    [
        "nobody",
        "rules:Rules",
        "json:loads",
        "json:JSONDecoder",
        "orbital_ops_env.policies:Nobody",
        "",
    ],
)
def test_a_policy_that_does_not_exist_is_a_clear_error(name: str) -> None:
    with pytest.raises(ValueError, match=r"expected a module of policies/ or package\.module:Class"):
        resolve(name)


class Silent:
    """Never says why."""

    def begin(self, seed: int) -> None: ...

    def act(self, view: PolicyView) -> AnyCommand:
        return Coast(duration_s=30)


def test_a_policy_that_does_not_say_why_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    with pytest.raises(ValueError, match="'Silent' object has no attribute 'rationale'"):
        resolve(f"{Path(__file__).stem}:Silent")


def test_the_leaderboard_ranks_by_success_within_a_family_and_counts_missions() -> None:
    rows = [row("good", seed, success=True) for seed in range(10)]
    rows += [row("half", seed, success=seed < 5) for seed in range(10) for _ in range(2)]
    rows += [row("half", seed, success=False, family="detumble-v0") for seed in range(4)]
    rows += [row("upper", seed, success=True, level=level) for seed in range(2) for level in (4, 9)]
    none, all_ = "0.00 [0.00, 0.49] | 0.00 [0.00, 0.00]", "1.00 [0.72, 1.00] | 1.00 [1.00, 1.00]"
    first, second, third, last, overall = leaderboard(rows).splitlines()[2:]
    assert first == f"| `half` | `detumble-v0` | 0 | 4 | 4 | {none} | 4.0 | 1.5 |"
    assert second == f"| `good` | `retarget-v0` | 0 | 10 | 10 | {all_} | 4.0 | 1.5 |"
    assert overall.startswith("| `half` | all 2 | 0 | 14 | 24 | 0.42 [")
    assert third.startswith("| `half` | `retarget-v0` | 0 | 10 | 20 | 0.50 [0.20, 0.80] |")
    assert last.startswith("| `upper` | `retarget-v0` | 4 9 | 4 | 4 |")


def test_the_environment_hash_is_of_names_and_contents_of_the_sources(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("orbital_ops_env.studies.figures.ROOT", tmp_path)
    monkeypatch.setattr("orbital_ops_env.studies.evaluate.HELD", ("one.py", "folder"))

    def hashed(**sources: str) -> str:
        (tmp_path / "folder").mkdir(exist_ok=True)
        for name, text in sources.items():
            (tmp_path / name.replace("__", "/")).with_suffix(".py").write_text(text)
        environment_hash.cache_clear()
        return environment_hash()

    before = hashed(one="1", folder__two="2")
    assert len(before) == 64
    assert hashed(one="1") == before
    assert hashed(one="0") != before
    assert hashed(one="1", folder__two="0") != before
    assert hashed(folder__two="2", folder__three="") != before
    environment_hash.cache_clear()


def test_a_row_of_another_environment_is_left_out(tmp_path: Path) -> None:
    mine, other = ({"environment_hash": each} for each in (environment_hash(), "another"))
    (tmp_path / "rules.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (mine, other)))
    assert read(tmp_path) == [mine]


@pytest.mark.parametrize("line", ["garbage", "{}", "[]", '{"environment_hash": '])
def test_a_line_that_is_no_row_is_named_before_anything_is_flown(
    tmp_path: Path, refused: Refused, line: str
) -> None:
    (tmp_path / "rules.jsonl").write_text(f"{line}\n")
    assert "rules.jsonl line 1 is no row of an evaluation" in refused("idle", tmp_path)
    assert not (tmp_path / "idle.jsonl").exists()


@pytest.mark.parametrize("option", ["--missions", "--episodes"])
@pytest.mark.parametrize("number", ["0", "-1", "1.5", "few"])
def test_nothing_to_fly_is_an_error_and_keeps_what_stood_there(
    tmp_path: Path, refused: Refused, option: str, number: str
) -> None:
    earlier = json.dumps({"environment_hash": "another"}) + "\n"
    (tmp_path / "idle.jsonl").write_text(earlier)
    assert "expected a whole number of at least 1" in refused("idle", tmp_path, option, number)
    assert (tmp_path / "idle.jsonl").read_text() == earlier


def test_a_cell_that_is_asked_for_twice_is_flown_once() -> None:
    once = jobs("rules", ["hold-v0"], [3], missions=2, episodes=2)
    assert jobs("rules", ["hold-v0", "hold-v0"], [3, 3], missions=2, episodes=2) == once


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "taken").write_text("")
    assert "taken" in refused("idle", tmp_path / "taken")


class Breaks(Rules):
    """Does not know what to do on one mission."""

    def act(self, view: PolicyView) -> AnyCommand:
        if view.brief.targets and self._seed == FIRST_SEED + 1:
            raise LookupError("no idea")
        return super().act(view)

    def begin(self, seed: int) -> None:
        self._seed = seed
        super().begin(seed)


def test_a_policy_that_breaks_says_on_which_mission_and_leaves_its_last_rows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    path = tmp_path / "breaks.jsonl"
    path.write_text("earlier rows\n")
    todo = jobs(f"{Path(__file__).stem}:Breaks", ["retarget-v0"], [0], missions=2, episodes=1)
    with pytest.raises(LookupError, match="no idea") as broken:
        evaluate(todo, path)
    assert broken.value.__notes__[-1].endswith(
        f"on retarget-v0 level=0 seed={todo[1].seed} episode_seed={todo[1].seed}"
    )
    assert path.read_text() == "earlier rows\n"


def test_a_policy_that_nobody_knows_is_an_error(tmp_path: Path, refused: Refused) -> None:
    assert "no policy 'nobody'" in refused("nobody", tmp_path)


def test_the_command_writes_rows_and_the_leaderboard(tmp_path: Path) -> None:
    done = command("idle", tmp_path, "--families", "retarget-v0", "--levels", "0", "--missions", "3")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "idle.jsonl").read_text().splitlines()]
    assert [each["seed"] for each in rows] == [FIRST_SEED, FIRST_SEED + 1, FIRST_SEED + 2]
    board = (tmp_path / "leaderboard.md").read_text()
    assert "| `idle` | `retarget-v0` | 0 | 3 | 3 | 0.00 [0.00, 0.56] |" in board
    assert board in done.stdout


def test_a_split_has_a_folder_of_its_own_and_its_own_missions(tmp_path: Path, refused: Refused) -> None:
    part = ("--split", "val", "--families", "retarget-v0", "--levels", "0")
    done = command("idle", tmp_path, *part)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "val" / "idle.jsonl").read_text().splitlines()) == 3
    assert "| `idle` | `retarget-v0` | 0 | 3 | 3 |" in (tmp_path / "val" / "leaderboard.md").read_text()
    assert "val has its own missions and episodes" in refused("idle", tmp_path, *part, "--missions", "3")


def test_a_split_without_tasks_of_a_family_says_which_it_has(tmp_path: Path, refused: Refused) -> None:
    said = refused("idle", tmp_path, "--split", "ood_fault", "--families", "detumble-v0")
    assert "ood_fault has no task of detumble-v0 at these levels: it has coast-v0, hold-v0" in said
    assert not list(tmp_path.rglob("*.part"))
