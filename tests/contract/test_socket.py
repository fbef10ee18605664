"""Whatever arrives on the socket is answered in words, and no session pays for another's mistakes.

A frame that can be answered leaves its session alive, with its episode as it was. On some others
OpenEnv itself ends the session: what is JSON but no object, what Python's JSON reader or writer
gives up on (`ENDING`), and a frame above 16 MiB.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final

import pytest
from websockets.exceptions import ConnectionClosed

from orbital_ops_env.commands import Coast
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.server.episode import Episode

MISSION: Final[dict[str, Any]] = {"family": "detumble-v0", "level": 4, "seed": 11, "episode_seed": 12}
COAST: Final = {"command": "coast", "duration_s": 30}
NAN, INFINITE = float("nan"), float("inf")
NO_JSON, UNKNOWN = "INVALID_JSON", "UNKNOWN_TYPE"
INVALID, REFUSED = "VALIDATION_ERROR", "EXECUTION_ERROR"


def step(**command: Any) -> str:
    return json.dumps({"type": "step", "data": {"command": command}})


def action(**data: Any) -> str:
    return json.dumps({"type": "step", "data": data})


def reset(**options: Any) -> str:
    return json.dumps({"type": "reset", "data": options})


MENU: Final = "expected one of 30|60|120|300|600|1200"
OPTIONS: Final = "Known: family, level, seed, episode_seed, split, index, run_id, member, episode_id."
ANSWERED: Final = {
    "malformed JSON": ("{", NO_JSON, "Expecting property name"),
    "empty frame": ("", NO_JSON, "Expecting value"),
    "a megabyte of noise": ("x" * 1_000_000, NO_JSON, "Expecting value"),
    "unknown message type": ('{"type":"fly"}', UNKNOWN, "fly"),
    "no message type": ("{}", UNKNOWN, "message type"),
    "extra message key": ('{"type":"state","now":1}', INVALID, "Extra inputs"),
    "no data": ('{"type":"step"}', INVALID, "Field required"),
    "data as a list": ('{"type":"step","data":[]}', INVALID, "valid dictionary"),
    "command without its object": (action(**COAST), INVALID, "valid dictionary"),
    "action in an envelope": (
        action(action={"command": COAST}),
        INVALID,
        "Field required",
    ),
    "unknown action field": (action(command=COAST, thrust=1), INVALID, "Extra inputs"),
    "tool call": (action(type="list_tools"), INVALID, "Field required"),
    "unknown command": (step(command="launch"), INVALID, "'detumble', 'slew', 'hold'"),
    "no argument": (step(command="coast"), INVALID, "Field required"),
    "unknown argument": (step(**COAST, rate_deg_s=1), INVALID, "Extra inputs"),
    "off the menu": (step(command="coast", duration_s=31), INVALID, MENU),
    "NaN": (step(command="coast", duration_s=NAN), INVALID, MENU),
    "Infinity": (step(command="coast", duration_s=INFINITE), INVALID, MENU),
    "-Infinity": (step(command="coast", duration_s=-INFINITE), INVALID, MENU),
    "string number": (step(command="coast", duration_s="30"), INVALID, "valid number"),
    "boolean number": (step(command="coast", duration_s=True), INVALID, "valid number"),
    "unit off the craft": (
        step(command="isolate_thruster", unit=13),
        INVALID,
        "less than or equal to 12",
    ),
    "over-long target": (
        step(command="slew", target="A" * 25, rate_deg_s=1),
        INVALID,
        "at most 24 characters",
    ),
    "over-long text": (
        step(command="unreadable", text="A" * 201),
        INVALID,
        "at most 200",
    ),
    "complaint of the sender's own": (
        step(command="unreadable", text="", why="success"),
        INVALID,
        "Extra inputs",
    ),
    "metadata": (action(command=COAST, metadata={"note": "hello"}), INVALID, "at most 0 items"),
    "metadata as a text": (action(command=COAST, metadata="hello"), INVALID, "valid dictionary"),
    "a megabyte of target": (
        step(command="slew", target="A" * 1_000_000, rate_deg_s=1),
        INVALID,
        "at most 24 characters",
    ),
    "target with a newline": (
        step(command="slew", target="VEGA\n", rate_deg_s=1),
        INVALID,
        "match pattern",
    ),
    "misspelt option": (reset(levle=3), REFUSED, f"levle.*{OPTIONS}"),
    "a megabyte of option": (reset(**{"x" * 1_000_000: 3}), REFUSED, OPTIONS),
    "level as a string": (reset(level="3"), REFUSED, "level: .*valid integer"),
    "level as a boolean": (reset(level=True), REFUSED, "level: .*valid integer"),
    "level as a fraction": (reset(level=3.0), REFUSED, "level: .*valid integer"),
    "level 11": (reset(level=11), REFUSED, "level: .*less than or equal to 9"),
    "negative seed": (reset(seed=-1), REFUSED, "seed: .*greater than or equal to 0"),
    "seed above 63 bits": (reset(seed=2**63), REFUSED, "seed: .*less than"),
    "seed is NaN": (reset(seed=NAN), REFUSED, "seed: .*valid integer"),
    "negative episode seed": (reset(episode_seed=-1), REFUSED, "episode_seed: .*greater"),
    "unknown family": (reset(family="detumbel-v0"), REFUSED, "did you mean detumble-v0?"),
    "strange family": (
        reset(family="chess"),
        REFUSED,
        "Expected one of detumble-v0, retarget-v0",
    ),
    "a megabyte of family": (reset(family="A" * 1_000_000), REFUSED, "at most 64"),
    "family as a list": (
        reset(family=["detumble-v0"]),
        REFUSED,
        "family: .*valid string",
    ),
    "unknown split": (reset(split="vall", index=0), REFUSED, "no split 'vall', did you mean val?"),
    "a megabyte of split": (reset(split="A" * 1_000_000, index=0), REFUSED, "split: .*at most 64"),
    "negative index": (reset(split="train", index=-1), REFUSED, "no task -1: expected 0 to 99999"),
    "index beyond the split": (
        reset(split="train", index=100_000),
        REFUSED,
        "no task 100000: expected 0 to 99999",
    ),
    "index as a string": (reset(split="train", index="3"), REFUSED, "index: .*valid integer"),
    "split without index": (reset(split="val"), REFUSED, "reset with split: expected index too"),
    "index without split": (reset(index=3), REFUSED, "reset with index: expected split too"),
    "task and level": (
        reset(split="train", index=3, level=0, seed=0),
        REFUSED,
        "a task and level, seed: expected one or the other",
    ),
    "episode id as a number": (
        reset(episode_id=5),
        REFUSED,
        "episode_id: .*valid string",
    ),
    "over-long episode id": (reset(episode_id="A" * 256), REFUSED, "at most 255"),
}
"""Frame, error code, and words that the answer must hold."""
ENDING: Final = {
    "list": "[1]",
    "string": '"step"',
    "null": "null",
    "binary": b'{"type":"state"}',
    "surrogate": step(command="coast", duration_s="\ud800"),
    "deep": '{"type":"step","data":' + "[" * 100_000 + "]" * 100_000 + "}",
    "long integer": '{"type":"reset","data":{"seed":' + "1" * 5000 + "}}",
}


@pytest.fixture(scope="module")
def undisturbed(frame: Callable[..., str]) -> list[str]:
    """The frames of an episode that nothing disturbs: reset, coast, coast."""
    mission = generate(MISSION["family"], MISSION["level"], MISSION["seed"])
    episode = Episode(mission, MISSION["episode_seed"])
    return [frame(episode.observation)] + [frame(episode.step(Coast(duration_s=30))) for _ in "12"]


@pytest.fixture
def bystander(url: str, open_session, undisturbed: list[str]):
    """Another session in mid-episode, whose next step must come out as if it were alone."""
    session = open_session(url)
    assert session.reset(**MISSION) == undisturbed[0]
    assert session.step(Coast(duration_s=30)) == undisturbed[1]
    yield session
    assert session.step(Coast(duration_s=30)) == undisturbed[2]


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize(("sent", "code", "words"), ANSWERED.values(), ids=ANSWERED)
def test_a_bad_frame_is_answered_and_the_episode_goes_on(
    url: str, open_session, undisturbed: list[str], sent: str, code: str, words: str
) -> None:
    session = open_session(url)
    session.reset(**MISSION)
    session.step(Coast(duration_s=30))
    state = session.state()
    answer = json.loads(session.exchange(sent))
    assert answer["type"] == "error"
    assert answer["data"]["code"] == code
    said = [answer["data"]["message"], *(e["msg"] for e in answer["data"].get("errors", []))]
    assert re.search(words, " ".join(said))
    assert session.state() == state
    assert session.step(Coast(duration_s=30)) == undisturbed[2]


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize("sent", ENDING.values(), ids=ENDING)
def test_a_frame_that_openenv_cannot_read_ends_its_own_session_only(
    url: str, open_session, undisturbed: list[str], sent: str | bytes
) -> None:
    session = open_session(url)
    session.reset(**MISSION)
    assert json.loads(session.exchange(sent))["data"]["code"] == "SESSION_ERROR"
    with pytest.raises(ConnectionClosed, match="1000"):
        session.step(Coast(duration_s=30))
    assert open_session(url).reset(**MISSION) == undisturbed[0]


@pytest.mark.usefixtures("bystander")
def test_a_frame_above_16_mib_closes_its_own_socket_only(
    url: str, open_session, undisturbed: list[str]
) -> None:
    session = open_session(url)
    session.reset(**MISSION)
    with pytest.raises(ConnectionClosed, match=r"1009.*16777216 bytes"):
        session.exchange("x" * (2**24 + 1))
    assert open_session(url).reset(**MISSION) == undisturbed[0]


@pytest.mark.parametrize("sent", ["{", step(command="launch"), reset(level=11)])
def test_a_session_that_starts_with_a_mistake_can_still_be_reset(
    url: str, open_session, undisturbed: list[str], sent: str
) -> None:
    session = open_session(url)
    assert json.loads(session.exchange(sent))["type"] == "error"
    assert session.reset(**MISSION) == undisturbed[0]


def test_an_option_that_is_null_counts_as_absent(url: str, open_session) -> None:
    session = open_session(url)
    assert session.reset(family=None, level=None, seed=None) == session.reset()
