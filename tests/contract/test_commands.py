"""The telecommand dictionary: what a reply must be, and what becomes of any other."""

import json
import math
from itertools import product
from typing import Any, Final, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbital_ops_env import commands
from orbital_ops_env.commands import (
    CUT,
    NAMES,
    TEXT_LIMIT,
    Telecommand,
    Unreadable,
    complaint,
    encode,
    parse,
    printable,
)

TARGETS: Final = ("sun", "VEGA", "TDRS-W", "a" * commands.NAME_LIMIT)
UNITS: Final = tuple(range(1, 13))
AXES: Final = ("+x", "-x", "+y", "-y", "+z", "-z")
KINDS: Final = get_args(commands.FaultKind)
MENUS: Final[dict[type, dict[str, tuple[Any, ...]]]] = {
    commands.Detumble: {"rate_deg_s": (0.05, 0.1, 0.2, 0.5)},
    commands.Slew: {"target": TARGETS, "rate_deg_s": (0.2, 0.5, 1, 2)},
    commands.Hold: {
        "target": TARGETS,
        "deadband_deg": (0.2, 0.5, 1, 3),
        "duration_s": (30, 60, 120, 300, 600, 1200),
    },
    commands.Coast: {"duration_s": (30, 60, 120, 300, 600, 1200)},
    commands.Fire: {"axis": AXES, "on_time_s": (0.1, 0.2, 0.5, 1, 2, 5)},
    commands.SelectBranch: {"branch": ("A", "B")},
    commands.IsolateThruster: {"unit": UNITS},
    commands.CalibrateGyro: {"duration_s": (60, 120)},
    commands.SelectAttitudeSource: {"source": ("star_tracker", "sun_sensors", "gyro")},
    commands.SafeMode: {"duration_s": (300, 600, 1200)},
    commands.Check: {"subsystem": ("gyro", "star_tracker", "thrusters", "tank", "power")},
    commands.ReportFault: {"kind": KINDS, "unit": (None, *UNITS)},
    commands.Image: {"target": TARGETS},
    commands.Downlink: {"station": TARGETS},
    commands.EndMission: {},
}
EVERY: Final = tuple(
    kind(**dict(zip(menu, values, strict=True)))
    for kind, menu in MENUS.items()
    for values in product(*menu.values())
)
CONTROL: Final = "a control character in it"
every_telecommand = st.sampled_from(EVERY)
numeric = st.sampled_from(
    [
        (command, name)
        for command in EVERY
        for name, value in command
        if isinstance(value, float | int) or name == "unit"
    ]
)


def is_unreadable(reply: str) -> bool:
    """Unreadable, with a short printable text and a short printable complaint."""
    command = parse(reply)
    if not isinstance(command, Unreadable):
        return False
    for words in (command.text, complaint(command.text)):
        assert len(words) <= TEXT_LIMIT
        assert words.isprintable()
    assert complaint(command.text)
    assert complaint(command.text) != CONTROL or not reply.isprintable()
    return True


def test_the_table_of_menus_covers_every_telecommand() -> None:
    assert set(MENUS) == set(get_args(Telecommand))
    assert {command.command for command in EVERY} == set(NAMES)


@pytest.mark.parametrize("kind", MENUS, ids=lambda kind: kind.__name__)
def test_every_menu_value_survives_encoding_and_parsing(kind: type) -> None:
    for command in (c for c in EVERY if isinstance(c, kind)):
        text = encode(command)
        assert parse(text) == command
        assert "\n" not in text


@given(every_telecommand, st.randoms(use_true_random=False), st.booleans())
def test_neither_the_order_of_keys_nor_inner_space_matters(
    command: Telecommand, random: Any, spaced: bool
) -> None:
    fields = list(command.model_dump().items())
    random.shuffle(fields)
    assert parse(json.dumps(dict(fields), indent=1 if spaced else None)) == command


@given(numeric, st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_a_number_off_the_menu_is_unreadable(argument: tuple[Telecommand, str], number: float) -> None:
    command, name = argument
    off_menu = number not in (value for value in MENUS[type(command)][name] if value is not None)
    reply = json.dumps(command.model_dump(exclude_none=True) | {name: number})
    assert is_unreadable(reply) or not off_menu


@given(
    numeric,
    st.sampled_from(["NaN", "Infinity", "-Infinity", "1e999", "true", "false", '"1"', "[1]", "{}"]),
)
def test_what_is_not_a_finite_number_is_unreadable(argument: tuple[Telecommand, str], literal: str) -> None:
    command, name = argument
    fields = command.model_dump(exclude_none=True) | {name: "HERE"}
    assert is_unreadable(json.dumps(fields).replace('"HERE"', literal))


@given(every_telecommand, st.text(min_size=1), st.none() | st.booleans() | st.text())
def test_an_extra_key_is_unreadable(command: Telecommand, key: str, value: Any) -> None:
    fields = command.model_dump(exclude_none=True)
    if key not in type(command).model_fields:
        assert is_unreadable(json.dumps(fields | {key: value}))
        assert is_unreadable(json.dumps(fields | {key: value}, ensure_ascii=False))


@given(every_telecommand, st.data())
def test_a_missing_key_is_unreadable(command: Telecommand, data: st.DataObject) -> None:
    fields = command.model_dump(exclude_none=True)
    required = [name for name in fields if name != "unit" or command.command != "report_fault"]
    del fields[data.draw(st.sampled_from(required))]
    assert is_unreadable(json.dumps(fields))


@given(every_telecommand, st.data())
def test_a_key_given_twice_is_unreadable(command: Telecommand, data: st.DataObject) -> None:
    text = encode(command)
    name, value = data.draw(st.sampled_from(list(json.loads(text).items())))
    assert is_unreadable(f"{text[:-1]},{json.dumps(name)}:{json.dumps(value)}}}")


WRAPPED: Final = {
    "space before": " {}",
    "space after": "{} ",
    "newline after": "{}\n",
    "newline before": "\n{}",
    "byte order mark": "\ufeff{}",
    "prose before": "I will coast: {}",
    "prose after": "{} and then slew",
    "fence": "```json\n{}\n```",
    "thought": "<think>{{}}</think>{}",
    "two objects": "{}{}",
    "two lines": "{}\n{}",
    "list": "[{}]",
    "string": '"{}"',
    "comment": "{} // now",
    "trailing null": "{}\0",
}


@pytest.mark.parametrize("wrapping", WRAPPED.values(), ids=WRAPPED)
@given(command=every_telecommand)
def test_a_telecommand_that_is_not_the_whole_reply_is_unreadable(wrapping: str, command: Telecommand) -> None:
    assert is_unreadable(wrapping.format(*[encode(command)] * wrapping.count("{}")))


COAST: Final = '{"command":"coast","duration_s":60}'
UNREADABLE: Final = {
    "empty": "",
    "blank": "   ",
    "word": "coast",
    "null": "null",
    "empty object": "{}",
    "unclosed": '{"command":"coast","duration_s":60',
    "single quotes": "{'command':'coast','duration_s':60}",
    "trailing comma": '{"command":"coast","duration_s":60,}',
    "unknown command": '{"command":"self_destruct"}',
    "command is null": '{"command":null}',
    "command is a list": '{"command":["coast"]}',
    "command in capitals": '{"command":"COAST","duration_s":60}',
    "action envelope": f'{{"command":{COAST}}}',
    "unreadable ordered": '{"command":"unreadable","text":"hello"}',
    "unreadable ordered, empty": '{"command":"unreadable"}',
    "target with a space": '{"command":"slew","target":"TDRS W","rate_deg_s":1}',
    "target with a newline": '{"command":"slew","target":"VEGA\\n","rate_deg_s":1}',
    "target with a bracket": '{"command":"slew","target":"VEGA)","rate_deg_s":1}',
    "target is empty": '{"command":"slew","target":"","rate_deg_s":1}',
    "target is too long": f'{{"command":"slew","target":"{"A" * 25}","rate_deg_s":1}}',
    "target is a number": '{"command":"slew","target":7,"rate_deg_s":1}',
    "axis without sign": '{"command":"fire","axis":"x","on_time_s":1}',
    "unit as a fraction": '{"command":"isolate_thruster","unit":1.0}',
    "unit zero": '{"command":"isolate_thruster","unit":0}',
    "unknown fault": '{"command":"report_fault","kind":"gremlins"}',
    "control character": '{"command":"slew","target":"VE\x07GA","rate_deg_s":1}',
    "surrogate": '{"command":"slew","target":"\ud800","rate_deg_s":1}',
    "escaped surrogate": '{"command":"\\ud800"}',
    "surrogate key": '{"command":"coast","duration_s":60,"\\ud800":1}',
    "deep lists": "{" + '"a":' + "[" * 100_000 + "]" * 100_000 + "}",
    "deep objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "deep within the limit": '{"command":"coast","duration_s":' + "[" * 80 + "]" * 80 + "}",
    "deep argument": '{"command":"coast","duration_s":' + "[" * 500 + "]" * 500 + "}",
    "long number": '{"command":"coast","duration_s":' + "1" * 100_000 + "}",
    "a megabyte of prose": "coast " * 170_000,
    "a megabyte of string": f'{{"command":"{"a" * 1_000_000}"}}',
    "a megabyte of key": f'{{"command":"coast","duration_s":60,"{"a" * 1_000_000}":1}}',
    "a megabyte of space": '{"command":"coast",' + " " * 1_000_000 + '"duration_s":61}',
}


@pytest.mark.parametrize("reply", UNREADABLE.values(), ids=UNREADABLE)
def test_a_reply_that_is_not_a_telecommand_is_unreadable(reply: str) -> None:
    assert is_unreadable(reply)


@given(st.text())
def test_any_text_can_be_parsed(reply: str) -> None:
    assert is_unreadable(reply)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text() | st.sampled_from(NAMES),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("command"), inner),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.dictionaries(st.text() | st.sampled_from(["command", "duration_s", "unit"]), json_values))
def test_any_json_object_can_be_parsed(fields: dict[str, Any]) -> None:
    reply = json.dumps(fields)
    assert is_unreadable(reply) or encode(parse(reply))


@given(st.text(max_size=400))
def test_an_unreadable_text_is_bounded_and_free_of_control_characters(text: str) -> None:
    unreadable = parse(f"no command: {text}")
    assert isinstance(unreadable, Unreadable)
    assert unreadable.text.isprintable()
    assert len(unreadable.text) <= TEXT_LIMIT
    assert Unreadable.model_validate_json(unreadable.model_dump_json()) == unreadable


COMPLAINTS: Final = {
    COAST.replace("60", "61"): "duration_s: expected one of 30|60|120|300|600|1200",
    COAST.replace("60", "NaN"): "NaN is not a finite number",
    COAST.replace("}", ',"duration_s":60}'): "a key is given twice",
    "Coast for a minute.": "only one JSON object, nothing before or after it",
    COAST + "\n": "only one JSON object, nothing before or after it",
    f"```json\n{COAST}\n```": "no Markdown fence",
    COAST + " " * 100 + "}": "not one JSON object: Extra data",
    COAST + " " * 300 + "}": "longer than 200 characters",
    COAST.replace(",", f",{' ' * 200}"): "longer than 200 characters",
    COAST.replace(",", ",\f"): CONTROL,
    "": "only one JSON object, nothing before or after it",
    '{"duration_s":60}': 'no "command" in it',
    '{"command":"fly"}': "no such command.",
    '{"command":"coast"}': "duration_s: Field required",
    '{"command":"slep"}': "no such command, did you mean slew?",
    COAST.replace("}", ',"unit":1}'): "unit: Extra inputs are not permitted",
    COAST.replace("}", ',"unti":1}'): "unknown argument: Extra inputs are not permitted",
}


@pytest.mark.parametrize(("reply", "words"), COMPLAINTS.items())
def test_the_complaint_says_what_was_expected(reply: str, words: str) -> None:
    command = parse(reply)
    assert isinstance(command, Unreadable)
    assert complaint(command.text).startswith(words)


@given(st.text(max_size=TEXT_LIMIT).map(printable))
def test_a_printable_reply_within_the_limit_is_kept_whole(reply: str) -> None:
    assert parse(reply) == Unreadable(text=reply)


@given(st.text(min_size=TEXT_LIMIT + 1))
def test_a_reply_that_is_too_long_is_cut_and_told_so(reply: str) -> None:
    command = parse(reply)
    assert isinstance(command, Unreadable)
    assert len(command.text) == TEXT_LIMIT
    assert command.text.endswith(CUT)
    assert complaint(command.text) == f"longer than {TEXT_LIMIT} characters"


def test_space_within_a_telecommand_counts_towards_its_length() -> None:
    spare = TEXT_LIMIT - len(COAST)
    assert parse(COAST.replace(",", f",{' ' * spare}")) == parse(COAST)
    assert is_unreadable(COAST.replace(",", f",{' ' * (spare + 1)}"))


def test_every_telecommand_is_short_enough_to_be_read_however_it_is_laid_out() -> None:
    assert max(len(command.model_dump_json(indent=4)) for command in EVERY) <= TEXT_LIMIT


@given(every_telecommand)
def test_numbers_travel_as_short_as_they_can(command: Telecommand) -> None:
    for value in json.loads(encode(command)).values():
        assert not isinstance(value, float) or not math.isclose(value, round(value))
