"""The text of an observation holds exactly what a policy sees."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbital_ops_env.client.formats import FORMATS, PROSE
from orbital_ops_env.client.render import (
    DETAIL_CHARACTERS,
    NUMBERS,
    WORDS,
    PolicyView,
    parse,
    render,
    view,
)
from orbital_ops_env.models import (
    Brief,
    DirectiveBrief,
    EndReason,
    OrbitalOpsObservation,
    Outcome,
    RuleBrief,
    SurplusAxis,
    Telemetry,
)


def number(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_subnormal=False)


names = st.from_regex(r"[A-Za-z0-9_-]{1,24}", fullmatch=True)
windows = {"dwell_s": number(0, 5e3), "opens_s": number(0, 5e3), "closes_s": number(0, 5e3)}
rate_directives = st.builds(DirectiveBrief, kind=st.just("rate"), rate_deg_s=number(0.01, 12), **windows)
charge_directives = st.builds(
    DirectiveBrief, kind=st.just("charge"), target=st.just("sun"), battery_pct=number(0, 100), **windows
)
aimed_directives = st.builds(
    DirectiveBrief,
    kind=st.sampled_from(["point", "image", "downlink"]),
    target=names,
    tolerance_deg=number(0.1, 90),
    turn_deg=st.none() | number(0, 180),
    **windows,
)
spans = {"from_s": number(0, 5e3), "until_s": st.none() | number(0, 5e3)}
rules = st.one_of(
    st.builds(
        RuleBrief,
        kind=st.sampled_from(["sun_keep_out", "reserve", "battery", "rate_cap"]),
        hard=st.booleans(),
        limit=number(0, 180),
        **spans,
    ),
    st.builds(
        RuleBrief,
        kind=st.just("keep_out"),
        hard=st.booleans(),
        limit=number(0, 180),
        target=names.filter(lambda name: name != "Sun"),
        **spans,
    ),
    st.builds(
        RuleBrief,
        kind=st.just("quiet"),
        hard=st.booleans(),
        limit=st.just(0.0),
        from_s=number(0, 5e3),
        until_s=number(0, 5e3),
    ),
)
briefs = st.builds(
    Brief,
    family=st.sampled_from(["detumble-v0", "mission-ops-v0"]),
    level=st.integers(0, 9),
    turns=st.integers(1, 100),
    clock_s=number(1, 9e4),
    propellant_g=number(0, 99),
    targets=st.lists(names, min_size=1, max_size=4).map(tuple),
    directives=st.lists(rate_directives | charge_directives | aimed_directives, max_size=4).map(tuple),
    rules=st.lists(rules, max_size=4).map(tuple),
)
details = st.text(
    st.characters(exclude_categories=["C", "Z"], include_characters=" ()[]{}\"'=,"), max_size=200
)
telemetries = st.builds(
    Telemetry,
    time_s=number(0, 9e4),
    turns_left=st.integers(0, 100),
    reason=st.sampled_from(get_args(EndReason)),
    detail=details,
    directive=st.integers(1, 10),
    dwell_s=number(0, 5e3),
    turn_deg=st.none() | number(0, 180),
    error_deg=st.none() | number(0, 180),
    rate_deg_s=number(0, 99),
    propellant_g=number(0, 99),
    tank_residual_g=number(-99, 99),
    tracker_valid=st.booleans(),
    innovation_deg=number(0, 180),
    gyro_tracker_deg_s=st.none() | number(-99, 99),
    surplus_deg_s=number(0, 99),
    surplus_axis=st.sampled_from(get_args(SurplusAxis)),
    sun_residual_deg=st.none() | number(0, 180),
    battery_pct=number(0, 100),
    panel_w=number(0, 50),
    stored_pct=number(0, 100),
    on_time_s=number(0, 9e3),
    branch=st.sampled_from(["A", "B"]),
    source=st.sampled_from(["star_tracker", "sun_sensors", "gyro"]),
    check=st.dictionaries(st.from_regex(r"[a-z_]{1,9}", fullmatch=True), number(-999, 999), max_size=3),
)
observations = st.builds(
    OrbitalOpsObservation,
    telemetry=telemetries,
    brief=st.none() | briefs,
    outcome=st.sampled_from(get_args(Outcome)),
    components=st.dictionaries(st.just("reward/overall"), number(0, 1)),
    done=st.booleans(),
    reward=st.none() | number(-1, 1),
)


def sightings(record: Any) -> Iterator[tuple[OrbitalOpsObservation, PolicyView | None]]:
    """Every observation of a flight with the view before it."""
    previous = None
    for observation in record.observations:
        yield observation, previous
        previous = view(observation, previous)


@pytest.mark.parametrize("form", FORMATS)
def test_the_text_of_real_flights_reads_back_as_the_view(flights, form: str) -> None:
    for record in flights:
        for observation, previous in sightings(record):
            text = FORMATS[form].render(observation, previous)
            assert FORMATS[form].parse(text, previous) == view(observation, previous), f"{record}\n{text}"


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=60)
@given(earlier=st.builds(PolicyView, briefs, telemetries), observation=observations)
def test_the_text_of_any_observation_reads_back_as_the_view(
    form: str, earlier: PolicyView, observation: OrbitalOpsObservation
) -> None:
    first = OrbitalOpsObservation(brief=earlier.brief, telemetry=earlier.telemetry)
    previous = view(first)
    written, read = FORMATS[form].render, FORMATS[form].parse
    assert read(written(first, None), None) == previous
    assert read(written(observation, previous), previous) == view(observation, previous)


def test_prose_has_words_for_every_channel() -> None:
    assert PROSE.keys() == NUMBERS.keys() | WORDS.keys()
    assert not any(a != b and a.startswith(f"{b} ") for a in PROSE.values() for b in PROSE.values())


@pytest.mark.parametrize("form", ["json", "prose"])
def test_a_text_without_a_brief_needs_the_view_before_it(form: str) -> None:
    text = "{}" if form == "json" else "At 5 s the command ended: completed. 3 commands left, D1 is next."
    with pytest.raises(ValueError, match="needs the view before it"):
        FORMATS[form].parse(text, None)


@pytest.mark.parametrize(
    "score",
    [
        {"outcome": "succeeded", "done": True},
        {"reward": 0.1234, "components": {"reward/overall": 0.1234}},
        {"metadata": {"truth": 0.1234}},
    ],
)
def test_score_and_outcome_never_reach_the_text(flights, score: dict[str, Any]) -> None:
    for observation, previous in sightings(flights[0]):
        scored = observation.model_copy(update=score)
        assert render(scored, previous) == render(observation, previous)


@pytest.mark.parametrize("word", ["reward", "succe", "fail", "score", "ongoing", "true", "fault"])
def test_no_word_of_the_score_is_in_the_text_of_a_flight(flights, word: str) -> None:
    for record in flights:
        for observation, previous in sightings(record):
            assert word not in render(observation, previous)


def test_what_did_not_change_is_left_out(flights) -> None:
    observation = flights[0].observations[0]
    still = observation.model_copy(update={"brief": None})
    assert len(render(still, view(observation)).splitlines()) == 1


@given(details)
def test_a_long_detail_is_cut_at_a_word(flights, detail: str) -> None:
    first = flights[0].observations[0]
    telemetry = first.telemetry.model_copy(update={"detail": detail})
    shown = view(first.model_copy(update={"telemetry": telemetry})).telemetry.detail
    assert len(shown) <= DETAIL_CHARACTERS
    assert shown == " ".join(detail.split()) or shown.endswith("[...]")


def test_an_observation_without_brief_needs_the_view_before_it(flights) -> None:
    observation = flights[0].observations[1]
    with pytest.raises(ValueError, match="needs the view before it"):
        view(observation)
    with pytest.raises(ValueError, match="needs the view before it"):
        parse(render(observation, view(flights[0].observations[0])))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "t=x left=3 D1 completed",
        "t=1 left=3 D1 completed\nspeed=1",
        "t=1 left=3 D1 completed\nrate=fast",
        "t=1 left=3 D1 completed\nst=perhaps",
        "t=1 left=3 D1 exploded",
        "MISSION\nt=1 left=3 D1 completed",
    ],
)
def test_a_text_that_render_never_writes_is_an_error(flights, text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse(text, view(flights[0].observations[0]))
