"""OpenEnv's Task API on a real server: raw routes, the client, and `reset` by split and index."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from orbital_ops_env.client import OrbitalOpsEnv, Tasks
from orbital_ops_env.missions import splits
from orbital_ops_env.missions.catalog import FLAGSHIP
from orbital_ops_env.missions.splits import SPLITS, TRAIN_TASKS
from orbital_ops_env.models import TaskEntry
from orbital_ops_env.server.observe import brief


@pytest.fixture
def tasks(url: str) -> Tasks:
    return Tasks(url)


def ask(url: str, route: str, **body: Any) -> Any:
    request = Request(f"{url}/orbital_ops_env/{route}", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


def refusal(url: str, route: str, **body: Any) -> tuple[int, Any]:
    """Status and detail of an answer that is an error."""
    with pytest.raises(HTTPError) as refused:
        ask(url, route, **body)
    with refused.value as answer:
        return refused.value.code, json.load(answer)["detail"]


# -- what there is -----------------------------------------------------------------------------


def test_the_splits_are_told_with_their_sizes(tasks: Tasks) -> None:
    told = tasks.list_splits()
    assert [split.name for split in told] == list(SPLITS)
    assert [split.type for split in told] == ["train", "validation", "test", "test", "test"]
    for split in told:
        assert split.num_tasks == tasks.num_tasks(split.name) == splits.num_tasks(split.name)
    assert told[0].num_tasks == TRAIN_TASKS


@pytest.mark.parametrize(
    ("split", "index"), [("train", 0), ("train", TRAIN_TASKS - 1), ("val", 0), ("test", 1)]
)
def test_a_task_is_told_with_its_brief(tasks: Tasks, split: str, index: int) -> None:
    told, task = tasks.get_task(split, index), splits.task(split, index)
    assert (told.split, told.index) == (split, index)
    assert (told.family, told.level, told.seed) == (task.spec.family, task.spec.level, task.spec.seed)
    assert (told.spec_hash, told.episode_seed) == (task.spec.content_hash, task.episode_seed)
    assert told.brief == brief(task.spec)


def test_nothing_that_is_told_of_a_task_names_what_breaks(url: str, unspoken: tuple[str, ...]) -> None:
    faulty = [index for index in range(400) if splits.task("train", index).spec.faults][:10]
    assert len(faulty) == 10
    for index in faulty:
        told = json.dumps(ask(url, "task", split="train", index=index))
        assert not [word for word in unspoken if word in told]


def test_a_list_is_the_first_tasks_and_a_range_any(tasks: Tasks) -> None:
    listed = tasks.list_tasks("train")
    assert len(listed) == 1000
    assert listed[17] == TaskEntry(split="train", index=17, family="shift-v0", level=2)
    assert tasks.get_task_range("train", 10, 20) == listed[10:20]
    assert [each.index for each in tasks.get_task_range("train", -2)] == [TRAIN_TASKS - 2, TRAIN_TASKS - 1]
    assert tasks.get_task_range("val") == tasks.list_tasks("val")
    assert len(tasks.list_tasks("val")) == splits.num_tasks("val")
    assert tasks.get_task_range("train", 20, 10) == []


def test_a_question_leaves_no_trace(tasks: Tasks) -> None:
    assert tasks.get_task("train", 5) == tasks.get_task("train", 5)
    assert tasks.list_splits() == tasks.list_splits()


# -- what there is not -------------------------------------------------------------------------


@pytest.mark.parametrize("index", [-1, TRAIN_TASKS, 10**30])
def test_an_index_out_of_range_is_a_400(url: str, tasks: Tasks, index: int) -> None:
    assert refusal(url, "task", split="train", index=index) == (400, "Invalid task index")
    with pytest.raises(IndexError, match=f"split train has no task {index}, see num_tasks"):
        tasks.get_task("train", index)


@pytest.mark.parametrize("route", ["num_tasks", "tasks", "task", "task_range"])
def test_an_unknown_split_is_a_clear_422(url: str, route: str) -> None:
    code, detail = refusal(url, route, split="vall", **({"index": 0} if route == "task" else {}))
    assert code == 422
    assert detail.startswith("no split 'vall', did you mean val? Expected one of")


@pytest.mark.parametrize("index", [float("nan"), float("inf"), 1.5, None, [], "one"])
def test_an_index_that_is_no_number_is_a_422_that_says_so(url: str, index: Any) -> None:
    code, detail = refusal(url, "task", split="val", index=index)
    assert code == 422
    assert detail[0]["loc"] == ["body", "index"]


def test_a_long_mission_that_is_told_of_holds_nobody_up(url: str, open_session) -> None:
    """A flagship mission of train is drawn in seconds; an idle session is answered meanwhile."""
    rare = next(index for index in range(600, 700) if splits.cell("train", index)[0] == FLAGSHIP)
    session = open_session(url)
    session.reset(seed=1)
    answers = 0
    with ThreadPoolExecutor(1) as other:
        told = [other.submit(ask, url, "task", split="train", index=rare + 61 * n) for n in range(3)]
        while not all(each.done() for each in told):
            session.state()
            answers += 1
    assert all(each.result()["task"]["family"] == FLAGSHIP for each in told)
    assert answers > 10 * len(told)


def test_the_client_names_what_it_cannot_have(tasks: Tasks) -> None:
    with pytest.raises(ValueError, match="no split 'vall', did you mean val"):
        tasks.num_tasks("vall")
    with pytest.raises(ValueError, match="a range of 100000 tasks: expected at most 1000 at a time"):
        tasks.get_task_range("train")
    with pytest.raises(ValueError, match="valid integer"):
        tasks.get_task("train", 0.5)  # type: ignore[arg-type]
    with pytest.raises(ConnectionError, match="is the server up"):
        Tasks("http://127.0.0.1:9").num_tasks("val")
    with pytest.raises(RuntimeError, match="the server answered 404"):
        Tasks(f"{tasks._url}/nowhere").num_tasks("val")


# -- reset -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("split", "index"), [("train", 12), ("val", 0), ("test", 1)])
def test_a_task_is_flown_with_its_own_seeds(url: str, split: str, index: int) -> None:
    with OrbitalOpsEnv(url).sync() as env:
        told = env.tasks.get_task(split, index)
        result = env.reset(split=split, index=index)
        assert result.observation.brief == told.brief
        state = env.state()
        assert (state.split, state.index) == (split, index)
        assert (state.spec_hash, state.episode_seed) == (told.spec_hash, told.episode_seed)
        assert (state.family, state.level, state.seed) == (told.family, told.level, told.seed)
        again = env.reset(split=split, index=index)
        assert again.observation == result.observation
        other = env.reset(split=split, index=index, episode_seed=3)
        assert env.state().episode_seed == 3
        assert other.observation.brief == told.brief
        assert other.observation.telemetry != result.observation.telemetry


def test_a_mission_by_its_seed_is_of_no_split(url: str) -> None:
    with OrbitalOpsEnv(url).sync() as env:
        env.reset(split="train", index=3)
        env.reset(family="hold-v0", level=2, seed=8)
        state = env.state()
        assert (state.split, state.index) == (None, None)
        assert (state.family, state.level, state.seed, state.episode_seed) == ("hold-v0", 2, 8, 8)


def test_tasks_are_at_hand_in_a_coroutine_too(url: str) -> None:
    async def flown() -> tuple[int | None, int]:
        env = OrbitalOpsEnv(url.replace("http", "ws"))
        async with env:
            count = await asyncio.to_thread(env.tasks.num_tasks, "val")
            await env.reset(split="val", index=count - 1)
            return (await env.state()).index, count

    index, count = asyncio.run(flown())
    assert index == count - 1


def test_a_client_without_a_server_has_no_tasks() -> None:
    class Later:
        """Starts a server when it is asked to."""

    env = OrbitalOpsEnv(provider=Later())  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="there is no server yet"):
        _ = env.tasks
