"""What a small language model must read and write, counted with SmolLM2's tokenizer."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final, get_args

import numpy as np
import pytest

from orbital_ops_env.client.formats import FORMATS
from orbital_ops_env.client.prompt import SYSTEM_PROMPT
from orbital_ops_env.client.render import NUMBERS, PolicyView, render
from orbital_ops_env.commands import (
    DEADBANDS_DEG,
    DURATIONS_S,
    ON_TIMES_S,
    SLEW_RATES_DEG_S,
    AttitudeSource,
    CalibrateGyro,
    Check,
    Downlink,
    FaultKind,
    Fire,
    Hold,
    Image,
    IsolateThruster,
    ReportFault,
    SafeMode,
    SelectAttitudeSource,
    Slew,
    Subsystem,
    Unreadable,
    complaint,
    encode,
    parse,
)
from orbital_ops_env.curriculum.operators import edit
from orbital_ops_env.missions.catalog import FAMILIES, FLAGSHIP, SHORT_FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.targets import CATALOGUE
from orbital_ops_env.models import OrbitalOpsObservation, Telemetry
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.server.observe import brief
from orbital_ops_env.sim.faults import Fault, GyroBias, StuckClosed, StuckOpen, TrackerOutage

Count = Callable[[str], int]

SYSTEM, OBSERVATION, COMMAND = 600, 130, 30
BRIEF: Final = dict.fromkeys(SHORT_FAMILIES, 300) | {FLAGSHIP: 1600}
OTHER_FORMAT: Final = 300
"""Longest observation as JSON or prose."""
EPISODE: Final = {level: 2304 if level < 5 else 3072 for level in range(10)}
SEEDS: Final = dict.fromkeys(SHORT_FAMILIES, 25) | {FLAGSHIP: 5}


def message(role: str, text: str) -> str:
    """One message in the ChatML template."""
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


@cache
def briefs(family: str, level: int) -> tuple[str, ...]:
    """The brief's text of many missions."""
    return tuple(_brief(generate(family, level, seed)) for seed in range(SEEDS[family]))


@cache
def evolved(family: str, level: int) -> tuple[MissionSpec, ...]:
    """Missions after thirty edits, nearly all of which make them harder."""
    missions: list[MissionSpec] = []
    for seed in range(4):
        rng, spec = np.random.default_rng(seed), generate(family, level, seed)
        for _ in range(30):
            if found := edit(spec, rng, harder=bool(rng.random() < 0.9)):
                _, spec = found
        missions.append(spec)
    return tuple(missions)


def _brief(spec: MissionSpec) -> str:
    first = OrbitalOpsObservation(telemetry=SLOW, brief=brief(spec))
    return render(first).partition("\nt=")[0]


def turns(record: Any) -> int:
    return len(record.commands)


SLOW: Final = Telemetry(
    time_s=1788,
    turns_left=12,
    reason="window_edge",
    detail="",
    directive=4,
    dwell_s=1188,
    turn_deg=178,
    error_deg=178.8,
    rate_deg_s=0.98,
    propellant_g=14.88,
    tank_residual_g=-0.88,
    tracker_valid=True,
    innovation_deg=178.88,
    gyro_tracker_deg_s=-0.88,
    surplus_deg_s=8.88,
    surplus_axis="-x",
    sun_residual_deg=178,
    battery_pct=88.8,
    panel_w=44,
    stored_pct=88,
    on_time_s=3588.8,
    branch="B",
    source="star_tracker",
)
"""Turning slowly, everything at its longest."""
FAST: Final = SLOW.model_copy(
    update={"rate_deg_s": 11.88, "tracker_valid": False, "gyro_tracker_deg_s": None}
)
"""Turning fast, with the star tracker blind."""
IDLE: Final = ("propellant_g", "stored_pct", "branch", "source")
"""Channels that a command without thrust, payload or switching leaves alone."""
COMMANDED: Final[dict[str, tuple[dict[str, Any], tuple[str, ...]]]] = {
    "manoeuvre": ({"reason": "limit", "detail": "propellant"}, ("stored_pct", "branch", "source")),
    "payload": ({"reason": "limit", "detail": "propellant", "on_time_s": 88.8}, ("branch", "source")),
    "branch": (
        {"reason": "alarm", "detail": "unexplained_rate", "on_time_s": 0},
        ("propellant_g", "stored_pct", "source"),
    ),
    "source": (
        {"reason": "alarm", "detail": "attitude_source", "on_time_s": 0},
        ("propellant_g", "stored_pct", "branch"),
    ),
    "thrusters": (
        {"check": dict.fromkeys(("dw_x", "dw_y", "dw_z"), -0.888), "on_time_s": 3.0},
        ("stored_pct", "branch", "source"),
    ),
    "gyro": (
        {
            "check": dict.fromkeys(("w_x", "w_y", "w_z"), -8.888),
            "reason": "limit",
            "detail": "sun_angle",
            "on_time_s": 0,
        },
        IDLE,
    ),
    "star_tracker": ({"check": dict.fromkeys(("age", "sun", "nadir"), 188.888), "on_time_s": 0}, IDLE),
    "tank": ({"check": {"bar": 4.888, "kelvin": 288.888}, "on_time_s": 0}, IDLE),
}
"""What a command's last telemetry can hold, and which channels it leaves alone."""


def why(reply: str) -> str:
    command = parse(reply)
    assert isinstance(command, Unreadable)
    return complaint(command.text)


NO_TARGET: Final = f"no such target, expected one of {', '.join(list(CATALOGUE)[-9:])}"
REFUSED: Final = {
    "no target": NO_TARGET,
    "cut short": f"unexplained_rate: {NO_TARGET}",
    "away": "LUCH-5V is 178 deg away, slew first",
    "prose": why("hello"),
    "fence": why("```json"),
    "no such command": why('{"command":"report_fualt"}'),
    "no command": why("{}"),
    "off the menu": why('{"command":"coast","duration_s":1}'),
    "unknown fault": why('{"command":"report_fault","kind":"gremlins"}'),
    "twice": why('{"command":"coast","command":"coast"}'),
    "number of many digits": why('{"command":"coast","duration_s":' + "1" * 160 + "}"),
    "long number": why('{"command":"coast","duration_s":' + "1" * 5000 + "}"),
    "deep within the limit": why('{"a":' * 30 + "}"),
    "deep": why('{"a":' * 99_999 + "}"),
    "strange key": why('{"command":"end_mission","' + "😀" * 100 + '":1}'),
    "strange command": why('{"command":"' + "\U000130a7" * 100 + '"}'),
    "strange and long": why('{"command":"' + "\U000130a7" * 200 + '"}'),
    "extra data": why('{"command":"end_mission"}{"command":"end_mission"}'),
}


def worst_text(
    now: Telemetry, update: dict[str, Any], untouched: tuple[str, ...], form: str = "compact"
) -> str:
    """The longest text of a command's end: every channel but the untouched ones has changed."""
    other = SLOW.model_dump() | {field: 1 for field, _ in NUMBERS.values()}
    now = now.model_copy(update=update)
    same = {name: getattr(now, name) for name in untouched}
    other |= {
        "branch": "A",
        "source": "gyro",
        "tracker_valid": not now.tracker_valid,
        "surplus_axis": "",
    } | same
    earlier = PolicyView(brief(generate("detumble-v0", 0, 0)), Telemetry.model_validate(other))
    return FORMATS[form].render(OrbitalOpsObservation(telemetry=now), earlier)


def test_the_system_prompt_is_short(tokens: Count) -> None:
    assert tokens(SYSTEM_PROMPT) <= SYSTEM


@pytest.mark.parametrize("level", range(10))
@pytest.mark.parametrize("family", FAMILIES)
def test_every_brief_is_short(tokens: Count, family: str, level: int) -> None:
    assert max(map(tokens, briefs(family, level))) <= BRIEF[family]


def test_every_text_of_real_flights_is_short(tokens: Count, flights) -> None:
    for record in flights:
        first, *later = record.texts
        assert tokens(first.partition("\nt=")[2]) < OBSERVATION, str(record)
        assert max(map(tokens, later)) <= OBSERVATION, str(record)


BREAKING: Final = (
    GyroBias(20.0, (0.0, math.radians(0.35), 0.0)),
    TrackerOutage(20.0),
    StuckClosed(20.0, 1),
    StuckOpen(20.0, 3),
)


@pytest.mark.parametrize("fault", BREAKING, ids=lambda fault: fault.kind)
@pytest.mark.parametrize("family", SHORT_FAMILIES)
def test_every_text_of_a_flight_that_breaks_is_short(
    tokens: Count, fly_mission, family: str, fault: Fault
) -> None:
    """The hardest level, flown by a policy that looks at what is wrong."""
    spec = generate(family, 9, 6).model_copy(update={"faults": (fault,)})
    _, *later = fly_mission(Reference(), spec, 6).texts
    assert max(map(tokens, later)) <= OBSERVATION


@pytest.mark.parametrize("now", [SLOW, FAST], ids=["slow", "fast"])
class TestTheLongestNumbers:
    def test_fit_at_reset(self, tokens: Count, now: Telemetry) -> None:
        first = render(OrbitalOpsObservation(telemetry=now, brief=brief(generate("detumble-v0", 0, 0))))
        assert tokens("t=" + first.partition("\nt=")[2]) <= OBSERVATION

    @pytest.mark.parametrize("case", COMMANDED)
    def test_fit_after_a_command(self, tokens: Count, now: Telemetry, case: str) -> None:
        assert tokens(worst_text(now, *COMMANDED[case])) <= OBSERVATION

    @pytest.mark.parametrize("form", ["json", "prose"])
    @pytest.mark.parametrize("case", COMMANDED)
    def test_fit_in_other_formats(self, tokens: Count, now: Telemetry, case: str, form: str) -> None:
        assert tokens(worst_text(now, *COMMANDED[case], form=form)) <= OTHER_FORMAT

    @pytest.mark.parametrize("detail", REFUSED.values(), ids=REFUSED)
    def test_fit_after_a_refusal(self, tokens: Count, now: Telemetry, detail: str) -> None:
        update = {"reason": "refused", "detail": detail, "on_time_s": 0}
        assert tokens(worst_text(now, update, IDLE)) <= OBSERVATION


LONGEST_NAMES: Final = (*CATALOGUE, "sun", "nadir")


def test_every_command_is_short(tokens: Count) -> None:
    every = [
        *(Slew(target=t, rate_deg_s=r) for t in LONGEST_NAMES for r in SLEW_RATES_DEG_S),
        *(
            Hold(target=target, deadband_deg=deadband, duration_s=duration)
            for target in LONGEST_NAMES
            for deadband in DEADBANDS_DEG
            for duration in DURATIONS_S
        ),
        *(Fire(axis=axis, on_time_s=t) for axis in ("+x", "-z") for t in ON_TIMES_S),
        *(ReportFault(kind=kind, unit=12) for kind in get_args(FaultKind)),
        *(Check(subsystem=subsystem) for subsystem in get_args(Subsystem)),
        *(SelectAttitudeSource(source=source) for source in get_args(AttitudeSource)),
        *(Image(target=name) for name in LONGEST_NAMES),
        *(Downlink(station=name) for name in LONGEST_NAMES),
        SafeMode(duration_s=1200),
        CalibrateGyro(duration_s=120),
        IsolateThruster(unit=12),
    ]
    assert max(tokens(encode(command)) for command in every) <= COMMAND


def longest(tokens: Count, brief_tokens: int, turns: int) -> int:
    """[token] of an episode with the longest observation and command in every turn."""
    frame = max(tokens(message(role, "")) for role in ("system", "user", "assistant"))
    start = frame + tokens(SYSTEM_PROMPT) + frame + brief_tokens + OBSERVATION
    return start + turns * (frame + COMMAND + frame + OBSERVATION)


@pytest.mark.parametrize("level", range(10))
@pytest.mark.parametrize("family", SHORT_FAMILIES)
class TestAWholeEpisode:
    def test_fits_at_the_limit_of_every_text(self, tokens: Count, family: str, level: int) -> None:
        longest_brief = max(map(tokens, briefs(family, level)))
        assert longest(tokens, longest_brief, generate(family, level, seed=0).turns) <= EPISODE[level]

    def test_fits_after_many_edits(self, tokens: Count, family: str, level: int) -> None:
        for spec in evolved(family, level):
            brief_tokens = tokens(_brief(spec))
            assert brief_tokens <= BRIEF[family]
            assert longest(tokens, brief_tokens, spec.turns) <= max(EPISODE.values())

    def test_fits_when_it_uses_every_turn(self, tokens: Count, fly_random, family: str, level: int) -> None:
        record = max((fly_random(family, level, seed) for seed in range(2)), key=turns)
        first, *later = record.texts
        length = tokens(message("system", SYSTEM_PROMPT)) + tokens(message("user", first))
        for command, text in zip(record.commands, later, strict=True):
            length += tokens(message("assistant", encode(command)))
            length += tokens(message("user", text))
        assert length <= EPISODE[level]
