"""The telecommands as tools, called as a trainer calls them: by name, on a real server."""

import inspect
import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, get_args

import pytest

from orbital_ops_env.client import (
    SYSTEM_PROMPT,
    EpisodeLost,
    EpisodeNotStarted,
    EpisodeOver,
    RunOptions,
    Runs,
    render,
    view,
)
from orbital_ops_env.client.tools import TOOL_PROMPT, OrbitalOpsTools
from orbital_ops_env.commands import NAMES, AnyCommand, Coast, Telecommand
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.missions.splits import task
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.server.flight import fly

KINDS = {kind.model_fields["command"].default: kind for kind in get_args(Telecommand)}
TOOLS = {
    name: method
    for name, method in inspect.getmembers(OrbitalOpsTools, inspect.isfunction)
    if not name.startswith("_") and name not in ("reset", "get_reward")
}
"""As TRL finds them."""
ROW: dict[str, Any] = {"prompt": [{"role": "user", "content": ""}], "family": "retarget-v0", "level": 2}
"""A row of a dataset, with a column that is no option."""


@pytest.fixture
def tools(url: str) -> Iterator[OrbitalOpsTools]:
    with OrbitalOpsTools(url) as tools:
        yield tools


def call(tools: OrbitalOpsTools, command: str, /, **arguments: Any) -> str:
    return getattr(tools, command)(**arguments)


def fly_as_tool(tools: OrbitalOpsTools, command: AnyCommand) -> str:
    arguments = command.model_dump(exclude={"command"}, exclude_none=True)
    return call(tools, command.command, **json.loads(json.dumps(arguments)))


def test_the_tools_are_the_telecommands_of_the_prompt() -> None:
    listed = SYSTEM_PROMPT.partition("\nCommands:\n")[2].partition("\nExamples:\n")[0]
    assert sorted(TOOLS) == sorted(line.split()[0] for line in listed.splitlines())
    assert set(NAMES) == set(TOOLS)


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_has_the_arguments_and_the_menus_of_its_telecommand(name: str) -> None:
    schema = KINDS[name].model_json_schema()
    _, *parameters = inspect.signature(TOOLS[name]).parameters.values()
    assert TOOLS[name].__name__ == name
    assert {"command", *(p.name for p in parameters)} == set(schema["properties"])
    assert {p.name for p in parameters if p.default is p.empty} == set(schema.get("required", []))
    doc = inspect.getdoc(TOOLS[name]) or ""
    assert doc.startswith(KINDS[name].__doc__)
    for parameter in parameters:
        (line,) = re.findall(rf"^ +{parameter.name}: (.+)$", doc, re.MULTILINE)
        _, _, menu = line.partition("(choices: ")
        assert (json.loads(menu[:-1]) if menu else None) == schema["properties"][parameter.name].get("enum")


def test_the_prompt_asks_for_tools_and_keeps_the_handbook() -> None:
    assert "JSON" not in TOOL_PROMPT
    assert "{" not in TOOL_PROMPT
    assert "call exactly one tool" in TOOL_PROMPT
    assert set(TOOL_PROMPT.splitlines()[1:]) < set(SYSTEM_PROMPT.splitlines())


def test_what_the_reference_flies_in_process_tools_fly_on_one_session(tools: OrbitalOpsTools) -> None:
    for seed in (1, 2):
        flight = fly(generate("retarget-v0", 2, seed), Reference(), episode_seed=seed + 5)
        tools.reset(**ROW, seed=seed, episode_seed=seed + 5)
        assert tools.get_reward() == 0.0
        for command in flight.commands:
            assert tools.outcome == "ongoing"
            fly_as_tool(tools, command)
        assert tools.outcome == flight.outcome
        assert tools.components == flight.components
        assert tools.get_reward() == pytest.approx(flight.return_, abs=1e-12)


def test_the_texts_are_those_that_a_policy_reads(tools: OrbitalOpsTools) -> None:
    episode = Episode(generate("retarget-v0", 2, 3), episode_seed=3)
    assert tools.reset(**ROW, seed=3, episode_seed=None) == render(episode.observation)
    seen = view(episode.observation)
    for _ in range(2):
        observation = episode.step(Coast(duration_s=30))
        assert call(tools, "coast", duration_s=30) == render(observation, seen)
        seen = view(observation, seen)


def test_a_row_may_name_a_task_or_a_slot(tools: OrbitalOpsTools, runs: Runs) -> None:
    spec = task("val", 3).spec
    assert f"MISSION {spec.family} level {spec.level}:" in tools.reset(prompt="x", split="val", index=3)
    runs.create(RunOptions(run_id="tools", preset="uniform", families=("hold-v0",)))
    assert "MISSION hold-v0" in tools.reset(split="curriculum", index=0, run_id="tools", member=0)


def test_a_group_flies_a_slot_from_rows_that_are_the_same(runs: Runs, url: str) -> None:
    small = {"members": 3, "missions": 4}
    runs.create(RunOptions(run_id="group", preset="eva", changes=small, families=("hold-v0",)))
    with ExitStack() as stack:
        group = [stack.enter_context(OrbitalOpsTools(url)) for _ in range(4)]
        texts = {tools.reset(split="curriculum", index=0, run_id="group") for tools in group[:3]}
        for tools in group[:3]:
            call(tools, "coast", duration_s=30)
        for tools in group[:3]:
            call(tools, "end_mission")
        assert len(texts) == 1
        told = runs.status("group")
        assert (told.slots, told.outcomes, told.again, told.flying) == (1, 3, 0, 0)
        group[3].reset(split="curriculum", index=0, run_id="group")
        call(group[3], "end_mission")
        told = runs.status("group")
        assert (told.slots, told.outcomes, told.again, told.flying) == (1, 3, 1, 0)


def test_a_row_without_options_flies_the_first_mission(tools: OrbitalOpsTools) -> None:
    assert "MISSION detumble-v0 level 0:" in tools.reset(prompt="x")


@pytest.mark.parametrize(
    ("command", "arguments", "why"),
    [
        ("slew", {"target": "VEGA", "rate_deg_s": 0.3}, "rate_deg_s: expected one of 0.2|0.5|1|2"),
        ("slew", {"target": "VEGA", "rate_deg_s": "0.5"}, "rate_deg_s: Input should be a valid number"),
        ("slew", {"target": "VEGA"}, "rate_deg_s: Field required"),
        ("coast", {"duration_s": 30, "target": "VEGA"}, "target: Extra inputs are not permitted"),
        ("coast", {"duration_s": 30, "self": 1}, "unknown argument: Extra inputs are not permitted"),
        ("coast", {"duration_s": 30, "command": "end_mission"}, "a key is given twice"),
        ("coast", {"duration_s": float("nan")}, "NaN is not a finite number"),
        ("coast", {"duration_s": {30}}, "duration_s: Input should be a valid number"),
        ("fire", {"axis": "x", "on_time_s": 1}, "axis: Input should be"),
        ("report_fault", {"kind": "gremlins"}, "kind: Input should be"),
    ],
)
def test_a_wrong_argument_costs_a_turn_and_says_why(
    tools: OrbitalOpsTools, command: str, arguments: dict[str, Any], why: str
) -> None:
    tools.reset(**ROW, seed=1)
    left = generate("retarget-v0", 2, 1).turns
    text = call(tools, command, **arguments)
    assert text.startswith(f"t=10 left={left - 1} D1 refused ({why}")
    assert tools.outcome == "ongoing"
    assert call(tools, "coast", duration_s=30).startswith(f"t=40 left={left - 2} D1 duration")


def test_a_missing_unit_and_a_null_unit_are_the_same(tools: OrbitalOpsTools) -> None:
    tools.reset(**ROW, seed=1)
    first = call(tools, "report_fault", kind="leak")
    tools.reset(**ROW, seed=1)
    assert call(tools, "report_fault", kind="leak", unit=None) == first


def test_a_tool_after_the_end_raises_and_the_return_stays(tools: OrbitalOpsTools) -> None:
    tools.reset(**ROW, seed=1)
    call(tools, "end_mission")
    after = tools.get_reward()
    for arguments in ({"duration_s": 30}, {"duration_s": 1}):
        with pytest.raises(EpisodeOver, match=r"over \(ended\).*stop"):
            call(tools, "coast", **arguments)
    assert tools.get_reward() == after
    tools.reset(**ROW, seed=1)
    assert tools.outcome == "ongoing"
    assert call(tools, "coast", duration_s=30).startswith("t=30 ")


def test_a_tool_before_the_first_reset_raises(tools: OrbitalOpsTools) -> None:
    with pytest.raises(EpisodeNotStarted, match="call reset"):
        call(tools, "coast", duration_s=30)


def test_a_refused_row_says_why(tools: OrbitalOpsTools) -> None:
    with pytest.raises(RuntimeError, match="level"):
        tools.reset(**ROW | {"level": 10})


def test_a_lost_episode_has_no_return_and_the_next_one_has(tools: OrbitalOpsTools) -> None:
    tools.reset(**ROW, seed=1)
    call(tools, "coast", duration_s=30)
    tools._env.disconnect()
    for _ in range(2):
        with pytest.raises(EpisodeLost):
            call(tools, "coast", duration_s=30)
        assert tools.get_reward() is None
    tools.reset(**ROW, seed=1)
    assert tools.get_reward() == 0.0


def test_an_unreachable_server_is_a_clear_error_at_once() -> None:
    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:9/"):
        OrbitalOpsTools("http://127.0.0.1:9")


def test_a_forgotten_environment_gives_its_session_back(narrow_url: str) -> None:
    make = partial(OrbitalOpsTools, narrow_url)
    _forget([make(), make()])
    with make() as one, make() as other:
        for tools in (one, other):
            _reset_soon(tools)


def _forget(environments: list[OrbitalOpsTools]) -> None:
    while environments:
        environments.pop().reset(**ROW)


def _reset_soon(tools: OrbitalOpsTools) -> None:
    """Reset when the server has room; a session that is no longer used is closed in the background."""
    deadline = time.monotonic() + 20
    while True:
        try:
            tools.reset(**ROW)
            return
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
