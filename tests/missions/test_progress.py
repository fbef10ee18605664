"""Progress and outcome are pure functions of a history."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.missions.directives import Point, ReduceRate
from orbital_ops_env.missions.mission import MissionSpec, Progress
from orbital_ops_env.missions.rules import RateCap, Reserve
from orbital_ops_env.sim.frames import dcm_from_mrp, mrp_from_dcm, mrp_from_ep
from orbital_ops_env.sim.state import Track, target_frame

SPEC = generate("retarget-v0", 1, 11)
POINTS = [directive for directive in SPEC.directives if isinstance(directive, Point)]


def track(spec: MissionSpec, target: str, start: float, end: float, gas_kg: float = 0.01) -> Track:
    """A history that points exactly at a target, at rest."""
    t = np.arange(start, end + 1.0)
    sigma = [mrp_from_dcm(target_frame(spec.target(target), spec.start.orbit, s)) for s in t]
    zeros = np.zeros(len(t))
    off = np.zeros(len(t), dtype=bool)
    return Track(t, np.array(sigma), np.zeros((len(t), 3)), zeros + gas_kg, zeros, zeros + 0.9, off, off)


def test_pointing_at_each_target_for_its_dwell_succeeds() -> None:
    progress, now = SPEC.begin(), 0.0
    for directive in POINTS:
        end = now + directive.dwell_s + 1
        progress = SPEC.advance(progress, track(SPEC, directive.target, now, end))
        now = end
    assert SPEC.succeeded(progress)
    assert SPEC.outcome(progress, turns_used=2) == "succeeded"
    assert SPEC.completion(progress) == 1.0
    assert progress.t <= now


def test_directives_count_in_order_only() -> None:
    last = POINTS[-1]
    progress = SPEC.advance(SPEC.begin(), track(SPEC, last.target, 0, 200))
    assert progress.done == 0


def test_a_dwell_must_be_unbroken() -> None:
    first = POINTS[0]
    half = first.dwell_s - 2
    progress = SPEC.advance(SPEC.begin(), track(SPEC, first.target, 0, half))
    away = track(SPEC, POINTS[1].target, half, half + 2)
    progress = SPEC.advance(progress, away)
    progress = SPEC.advance(progress, track(SPEC, first.target, half + 2, 2 * half))
    assert progress.done == 0
    assert progress.dwelt == half


def test_nothing_counts_before_the_window_opens() -> None:
    first = POINTS[0].model_copy(update={"opens_s": 100.0})
    spec = SPEC.model_copy(update={"directives": (first, *POINTS[1:])})
    progress = spec.advance(spec.begin(), track(spec, first.target, 0, 99))
    assert (progress.done, progress.dwelt) == (0, 0)
    progress = spec.advance(progress, track(spec, first.target, 99, 101 + first.dwell_s))
    assert progress.done == 1


def test_a_window_that_closes_first_fails_the_mission() -> None:
    first = POINTS[0]
    progress = SPEC.advance(SPEC.begin(), track(SPEC, "nadir", 0, first.closes_s))
    assert SPEC.outcome(progress, turns_used=1) == "failed"
    assert progress.t == first.closes_s
    late = track(SPEC, first.target, first.closes_s, first.closes_s + 60)
    assert SPEC.advance(progress, late) == progress


def test_looking_at_the_sun_breaks_the_keep_out() -> None:
    sun_hat = SPEC.start.orbit.sun_hat_N
    side = np.cross(sun_hat, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side)
    sigma = mrp_from_dcm(np.array([side, np.cross(sun_hat, side), sun_hat]))
    assert dcm_from_mrp(sigma)[2] == pytest.approx(sun_hat)
    looking = track(SPEC, "nadir", 0, 2)
    looking = replace(looking, sigma_BN=np.tile(sigma, (3, 1)))
    assert SPEC.violated(SPEC.advance(SPEC.begin(), looking))


def test_a_broken_soft_rule_does_not_fail_the_mission() -> None:
    spec = SPEC.model_copy(update={"rules": (RateCap(rate_rad_s=0.01),)})
    fast = track(spec, POINTS[0].target, 0, 5)
    fast = replace(fast, omega_BN_B=fast.omega_BN_B + 0.02)
    progress = spec.advance(spec.begin(), fast)
    assert progress.broken == {0}
    assert spec.outcome(progress, turns_used=1) == "ongoing"


def test_turns_and_clock_end_a_mission_that_nothing_else_ends() -> None:
    progress = SPEC.advance(SPEC.begin(), track(SPEC, "nadir", 0, 2))
    assert SPEC.outcome(progress, turns_used=SPEC.turns) == "out_of_turns"
    late = SPEC.model_copy(update={"clock_s": 2.0})
    assert late.outcome(progress, turns_used=1) == "timed_out"


attitudes = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=6)


@given(attitudes, st.data())
@settings(max_examples=40, deadline=None)
def test_judging_in_pieces_gives_what_judging_at_once_gives(seeds: list[int], data: st.DataObject) -> None:
    parts = [random_track(seed, start=20.0 * n) for n, seed in enumerate(seeds)]
    whole = join(parts)
    at_once = SPEC.advance(SPEC.begin(), whole)
    cut = data.draw(st.integers(0, len(whole.t) - 1))
    first = SPEC.advance(SPEC.begin(), part(whole, 0, cut + 1))
    assert SPEC.advance(first, part(whole, cut, len(whole.t))) == at_once


@given(attitudes)
@settings(max_examples=40, deadline=None)
def test_completion_stays_in_bounds_and_is_zero_at_the_start(seeds: list[int]) -> None:
    progress = SPEC.begin()
    assert SPEC.completion(progress) == 0.0
    for n, seed in enumerate(seeds):
        progress = SPEC.advance(progress, random_track(seed, start=20.0 * n))
        assert 0.0 <= SPEC.completion(progress) <= 1.0


def random_track(seed: int, start: float) -> Track:
    """Twenty seconds at a random attitude or at the first target, at a random rate."""
    rng = np.random.default_rng(seed)
    if rng.random() < 0.5:
        still = track(SPEC, POINTS[0].target, start, start + 20)
    else:
        q = rng.normal(size=4)
        still = track(SPEC, "nadir", start, start + 20)
        still = replace(still, sigma_BN=np.tile(mrp_from_ep(q / np.linalg.norm(q)), (21, 1)))
    return replace(still, omega_BN_B=still.omega_BN_B + rng.normal(scale=0.01, size=3))


@given(attitudes)
@settings(max_examples=40, deadline=None)
def test_a_broken_hard_rule_cannot_be_compensated(seeds: list[int]) -> None:
    broken = track(SPEC, POINTS[0].target, 0, 3, gas_kg=SPEC.reserve_kg / 2)
    progress = SPEC.advance(SPEC.begin(), broken)
    assert SPEC.outcome(progress, turns_used=1) == "failed"
    assert SPEC.completion(progress) == 0.0
    later = join([random_track(seed, start=20.0 * n) for n, seed in enumerate(seeds)])
    assert SPEC.advance(progress, later) == progress


@given(attitudes)
@settings(max_examples=40, deadline=None)
def test_a_soft_rule_once_broken_stays_broken(seeds: list[int]) -> None:
    spec = SPEC.model_copy(update={"rules": (RateCap(rate_rad_s=0.005), RateCap(rate_rad_s=0.02))})
    progress = spec.begin()
    for n, seed in enumerate(seeds):
        further = spec.advance(progress, random_track(seed, start=20.0 * n))
        assert further.broken >= progress.broken
        progress = further


def test_coming_again_earns_nothing() -> None:
    """Ten seconds at the target, then away, then ten seconds there again: worth the first ten."""
    target, paid, progress = POINTS[0].target, [0.0], SPEC.begin()
    progress = SPEC.advance(progress, track(SPEC, POINTS[1].target, 0, 2))
    for visit in range(3):
        start = 2.0 + 20 * visit
        progress = SPEC.advance(progress, track(SPEC, target, start, start + 10))
        progress = SPEC.advance(progress, track(SPEC, POINTS[1].target, start + 10, start + 20))
        paid.append(SPEC.completion(progress))
    assert 0 == paid[0] < paid[1] == paid[2] == paid[3] < 0.5


@given(st.floats(0, 10), st.floats(0, 10))
def test_passing_a_target_is_worth_half_a_directive_at_most(first: float, best: float) -> None:
    assert POINTS[0].progress(first, best, dwelt=0.0) <= 0.5


def join(parts: list[Track]) -> Track:
    """One history from adjoining ones; a shared row is kept once."""
    keep = [part(parts[0], 0, len(parts[0].t)), *(part(p, 1, len(p.t)) for p in parts[1:])]
    return Track(*(np.concatenate([getattr(p, name) for p in keep]) for name in Track.__dataclass_fields__))


def part(whole: Track, start: int, end: int) -> Track:
    """Rows of a history."""
    return Track(*(getattr(whole, name)[start:end] for name in Track.__dataclass_fields__))


@given(st.floats(0, 10), st.floats(0, 10), st.floats(0, 100))
def test_progress_of_a_directive_is_monotone(first: float, best: float, dwelt: float) -> None:
    directive = POINTS[0]
    value = directive.progress(first, best, dwelt)
    assert 0.0 <= value <= 1.0
    assert directive.progress(first, best / 2, dwelt) >= value
    assert directive.progress(first, best, dwelt + 1) >= value
    assert not math.isnan(value)


@pytest.mark.parametrize(
    ("first", "best", "share", "expected"),
    [
        (10.0, 5.0, 0.5, 0.5),
        (10.0, 2.5, 0.0, 0.375),
        (10.0, 10.0, 1.0, 0.5),
        (10.0, 0.0, 1.0, 1.0),
        (0.0, 0.0, 0.0, 0.0),
    ],
)
def test_half_is_for_coming_nearer_and_half_for_staying(
    first: float, best: float, share: float, expected: float
) -> None:
    """A craft that is there already has come no nearer."""
    directive = POINTS[0]
    assert directive.progress(first, best, share * directive.dwell_s) == expected


def test_a_rate_cap_counts_from_its_time_on() -> None:
    spec = SPEC.model_copy(update={"rules": (RateCap(rate_rad_s=0.01, from_s=5.0),)})
    for until, broken in ((4, frozenset[int]()), (6, {0})):
        fast = track(spec, "nadir", 0, until)
        fast = replace(fast, omega_BN_B=fast.omega_BN_B + 0.02)
        assert spec.advance(spec.begin(), fast).broken == broken


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_rate_about_any_axis_counts(axis: int, sign: float) -> None:
    """A spin of exactly the limit is no breach, and is within a rate directive; one of a hair more is."""
    limit = 0.01
    still = track(SPEC, "nadir", 0, 20)
    cap = RateCap(rate_rad_s=limit)
    stop = ReduceRate(opens_s=0.0, closes_s=60.0, dwell_s=5.0, rate_rad_s=limit)
    spec = SPEC.model_copy(update={"directives": (stop, *SPEC.directives), "rules": (cap,)})
    for rate, fast in ((limit, False), (1.001 * limit, True)):
        spun = replace(still, omega_BN_B=sign * rate * np.eye(3)[axis] + still.omega_BN_B)
        progress = spec.advance(spec.begin(), spun)
        assert (progress.done, progress.broken) == ((0, {0}) if fast else (1, frozenset()))


def test_gas_at_the_reserve_is_enough_and_less_is_not() -> None:
    reserve_kg = 1e-3
    spec = SPEC.model_copy(update={"rules": (Reserve(propellant_kg=reserve_kg),)})
    for gas_kg, broken in ((reserve_kg, frozenset[int]()), (reserve_kg - 1e-9, {0})):
        progress = spec.advance(spec.begin(), track(spec, "nadir", 0, 3, gas_kg))
        assert progress.broken == broken


def test_the_clock_ends_a_directive_whose_window_is_longer() -> None:
    first = POINTS[0].model_copy(update={"closes_s": 1e4})
    spec = SPEC.model_copy(update={"directives": (first, *POINTS[1:]), "clock_s": first.dwell_s + 5.0})
    late = track(spec, "nadir", 0, 10)
    at_it = track(spec, first.target, 10, 10 + first.dwell_s)
    progress = spec.advance(spec.advance(spec.begin(), late), at_it)
    assert (progress.t, progress.done) == (spec.clock_s, 0)
    assert spec.advance(progress, track(spec, first.target, progress.t, progress.t + 60)) == progress
    assert spec.outcome(progress, turns_used=1) == "timed_out"


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("clock_s", 120.5),
        ("clock_s", 0.0),
        ("clock_s", math.inf),
        ("directives", [POINTS[0].model_dump() | {"opens_s": 50.0, "closes_s": 50.0}]),
        ("directives", [POINTS[0].model_dump() | {"closes_s": math.nan}]),
        ("directives", [POINTS[0].model_dump() | {"tolerance_rad": math.inf}]),
        ("rules", [{"kind": "quiet", "opens_s": 60.0, "closes_s": 30.0}]),
        ("rules", [{"kind": "reserve", "propellant_kg": -1.0}]),
        ("rules", [{"kind": "reserve", "propellant_kg": math.nan}]),
        ("rules", [{"kind": "reserve", "propellant_kg": 1.0}]),
        ("rules", [{"kind": "reserve", "propellant_kg": SPEC.start.propellant_kg}]),
        ("rules", [{"kind": "rate_cap", "rate_rad_s": 0.0}]),
    ],
)
def test_a_mission_that_makes_no_sense_is_refused(field: str, wrong: object) -> None:
    with pytest.raises(ValidationError):
        MissionSpec.model_validate(SPEC.model_dump() | {field: wrong})


def test_the_greatest_reserve_counts() -> None:
    rules = tuple(Reserve(propellant_kg=kg) for kg in (2e-4, 5e-4, 1e-4))
    assert SPEC.model_copy(update={"rules": rules}).reserve_kg == 5e-4
    assert SPEC.model_copy(update={"rules": ()}).reserve_kg == 0


def test_a_sequencer_that_learns_that_the_mission_goes_on_goes_on() -> None:
    idle = track(SPEC, "nadir", 0, POINTS[0].closes_s)
    missed = SPEC.advance(SPEC.begin(), idle)
    assert SPEC.missed(missed)
    onward = SPEC.overruled(missed)
    assert (onward.done, onward.t) == (1, missed.t)
    assert not SPEC.decided(onward)
    assert SPEC.overruled(onward) == onward

    done = Progress(t=50.0, propellant_kg=0.01, done=len(POINTS))
    assert SPEC.succeeded(done)
    onward = SPEC.overruled(done)
    assert (onward.done, onward.dwelt) == (len(POINTS) - 1, 0.0)
    assert SPEC.overruled(onward) == onward


def row_by_row(spec: MissionSpec, progress: Progress, track: Track) -> Progress:
    """`MissionSpec.advance` as its docstrings tell it, one row at a time."""
    broken = [rule.broken(track, spec) for rule in spec.rules]
    for n in range(0 if track.t[0] == 0 else 1, len(track.t)):
        if spec.decided(progress):
            break
        directive, t = spec.directives[progress.done], float(track.t[n])
        error = float(directive.errors(track, spec)[n])
        holds = directive.opens_s <= t <= directive.closes_s and error <= directive.limit
        since = min(progress.since, t) if holds else math.inf
        dwelt = max(progress.dwelt, t - since) if holds else progress.dwelt
        progress = replace(
            progress,
            t=t,
            propellant_kg=float(track.propellant_kg[n]),
            broken=progress.broken | {k for k, rows in enumerate(broken) if rows[n]},
            first=error if math.isinf(progress.first) else progress.first,
            best=min(progress.best, error),
            dwelt=dwelt,
            since=since,
        )
        if dwelt >= directive.dwell_s:
            progress = Progress(t, progress.propellant_kg, progress.done + 1, broken=progress.broken)
    return progress


@given(attitudes, st.lists(st.integers(3, 60), min_size=len(POINTS), max_size=len(POINTS)), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_history_is_judged_as_its_rows_are(seeds: list[int], closes: list[int], dry: bool) -> None:
    points = [
        point.model_copy(update={"opens_s": 0.0, "closes_s": 20.0 * n + after, "dwell_s": 3.0})
        for n, (point, after) in enumerate(zip(POINTS, closes, strict=True))
    ]
    spec = SPEC.model_copy(update={"directives": tuple(points), "clock_s": 70.0})
    judged = expected = spec.begin()
    for n, seed in enumerate(seeds):
        part = random_track(seed, start=20.0 * n)
        if dry:
            part.propellant_kg[seed % 21] = 0.0
        judged, expected = spec.advance(judged, part), row_by_row(spec, expected, part)
        assert judged == expected
