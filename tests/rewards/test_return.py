"""What an episode is worth: terms, their sum, and what cannot be earned."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbital_ops_env.commands import (
    AnyCommand,
    Check,
    Coast,
    EndMission,
    SelectAttitudeSource,
    Slew,
    Unreadable,
)
from orbital_ops_env.missions.catalog import FAMILIES, SHORT_FAMILIES, generate
from orbital_ops_env.missions.directives import Point
from orbital_ops_env.missions.mission import MissionSpec, Progress
from orbital_ops_env.missions.rules import RateCap
from orbital_ops_env.policies.random import draw
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.rewards import terms
from orbital_ops_env.rewards.rubric import MissionRubric, Weights
from orbital_ops_env.rewards.terms import Standing
from orbital_ops_env.server import flight
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.sim.faults import GyroBias

NAMES = ("objective", "process", "efficiency", "safety", "format")
TERMS: dict[str, Callable[[Standing], float]] = {
    "objective": terms.objective,
    "process": terms.process,
    "efficiency": terms.efficiency,
    "safety": terms.safety,
    "format": terms.format_,
}
LOGGED = tuple(f"reward/{n}" for n in ("overall", "primary", *NAMES[1:]))
SPECS = [generate(family, level, seed=1) for family in FAMILIES for level in (0, 3, 9)]


@st.composite
def standings(draw: st.DrawFn) -> Standing:
    """Any standing of any mission, possible or not."""
    spec = draw(st.sampled_from(SPECS))
    first = draw(st.floats(1e-6, math.pi))
    replies = draw(st.integers(0, spec.turns))
    progress = Progress(
        t=draw(st.floats(0, spec.clock_s)),
        propellant_kg=draw(st.floats(-1e-4, spec.start.propellant_kg)),
        done=draw(st.integers(0, len(spec.directives))),
        first=draw(st.sampled_from([math.inf, first])),
        best=draw(st.floats(0, first)),
        dwelt=draw(st.floats(0, 100)),
        broken=draw(st.frozensets(st.integers(0, len(spec.rules) - 1))),
    )
    readable = draw(st.integers(0, replies))
    return Standing(spec, progress, replies, readable, draw(st.integers(0, 9)), draw(st.integers(0, 2)))


def value(standing: Standing) -> float:
    """V at a standing."""
    rubric = MissionRubric()
    rubric(None, standing)
    return rubric.value


def succeeded(standing: Standing) -> bool:
    return standing.spec.succeeded(standing.progress)


# -- terms and their sum -----------------------------------------------------------------------


@given(standings())
def test_every_term_and_the_value_lie_between_0_and_1(standing: Standing) -> None:
    for term in TERMS.values():
        assert 0 <= term(standing) <= 1
    assert 0 <= value(standing) <= 1


@given(standings())
def test_the_value_is_the_formula(standing: Standing) -> None:
    s, P, E, S, F = (term(standing) for term in TERMS.values())
    formula = 0.40 * s + 0.25 * P + s * (0.15 * E + 0.10 * S + 0.10 * F)
    assert value(standing) == pytest.approx(formula, abs=1e-12)


@given(standings())
def test_no_failure_outranks_a_success(standing: Standing) -> None:
    if succeeded(standing):
        assert value(standing) >= 0.65
    else:
        assert value(standing) <= 0.25


@given(st.lists(standings(), max_size=9))
def test_step_rewards_sum_to_the_last_value_in_any_order(history: list[Standing]) -> None:
    rubric = MissionRubric()
    rewards: list[Any] = [rubric(None, standing) for standing in history]
    assert all(-1 <= reward <= 1 for reward in rewards)
    assert math.fsum(rewards) == pytest.approx(value(history[-1]) if history else 0.0, abs=1e-9)


@given(standings(), st.floats(0, 1), st.floats(0, 1))
def test_finishing_earlier_or_with_more_gas_never_earns_less(
    standing: Standing, sooner: float, saved: float
) -> None:
    progress = replace(standing.progress, done=len(standing.spec.directives))
    better = replace(progress, t=progress.t * sooner, propellant_kg=progress.propellant_kg + saved * 1e-3)
    late, early = (replace(standing, progress=p) for p in (progress, better))
    assert value(early) >= value(late)


@given(standings(), st.floats(0, 1), st.integers(1, 3))
def test_every_term_is_monotone_in_what_it_measures(standing: Standing, less: float, more: int) -> None:
    progress, spec = standing.progress, standing.spec
    soft = {k for k, rule in enumerate(spec.rules) if not rule.hard}

    def at(**changes: Any) -> Standing:
        return replace(standing, progress=replace(progress, **changes))

    better = {
        "objective": [at(done=len(spec.directives)), at(broken=frozenset())],
        "process": [at(best=less * progress.best), at(dwelt=progress.dwelt + more), at(broken=frozenset())],
        "efficiency": [at(t=less * progress.t), at(propellant_kg=progress.propellant_kg + less * 1e-3)],
        "safety": [at(broken=progress.broken - soft)],
        "format": [replace(standing, readable=standing.replies)],
    }
    for name, standings in better.items():
        assert all(TERMS[name](each) >= TERMS[name](standing) for each in standings), name
    for worse in ("wrong_reports", "unreported"):
        reported = replace(standing, **{worse: getattr(standing, worse) + more})
        assert terms.safety(reported) <= terms.safety(standing)


@pytest.mark.parametrize("gas", [0.25, 0.75])
@pytest.mark.parametrize("time", [0.1, 0.5])
def test_efficiency_is_the_mean_of_the_shares_left(gas: float, time: float) -> None:
    spec = SPECS[0]
    budget = spec.start.propellant_kg - spec.reserve_kg
    progress = replace(
        spec.begin(), t=(1 - time) * spec.clock_s, propellant_kg=spec.reserve_kg + gas * budget
    )
    assert terms.efficiency(Standing(spec, progress, 1, 1, 0, 0)) == pytest.approx((gas + time) / 2)


@pytest.mark.parametrize(
    ("broken", "expected"), [((), 1.0), ((0,), 0.75), ((1, 3), 0.5), ((0, 1, 2, 3), 0.0)]
)
def test_safety_is_the_share_of_soft_rules_kept(broken: tuple[int, ...], expected: float) -> None:
    caps = tuple(RateCap(rate_rad_s=0.01 * n) for n in range(1, 5))
    spec = SPECS[0].model_copy(update={"rules": (*caps, *SPECS[0].rules)})
    progress = replace(spec.begin(), broken=frozenset(broken))
    assert terms.safety(Standing(spec, progress, 1, 1, 0, 0)) == expected


def test_an_unreadable_reply_costs_a_share_of_the_turns() -> None:
    episode = Episode(SPECS[0], episode_seed=0)
    sent = (Coast(duration_s=30), Unreadable(text="?"), Check(subsystem="tank"), Unreadable(text="?"))
    told = [episode.step(command).components["reward/format"] for command in sent]
    turns = SPECS[0].turns
    assert told == pytest.approx([1, 1 - 1 / turns, 1 - 1 / turns, 1 - 2 / turns])


def test_giving_up_with_the_last_turn_is_giving_up() -> None:
    spec = SPECS[0].model_copy(update={"turns": 1})
    assert Episode(spec, episode_seed=0).step(EndMission()).outcome == "ended"


@given(standings())
def test_the_reserve_is_no_budget(standing: Standing) -> None:
    spec = standing.spec
    assert spec.reserve_kg > 0
    empty, full = (
        replace(standing, progress=replace(standing.progress, t=spec.clock_s, propellant_kg=gas))
        for gas in (spec.reserve_kg, spec.start.propellant_kg)
    )
    assert terms.efficiency(empty) == 0
    assert terms.efficiency(full) == pytest.approx(0.5)


@given(standings())
def test_the_next_directive_is_never_worth_less(standing: Standing) -> None:
    done = min(standing.progress.done + 1, len(standing.spec.directives))
    further = replace(standing.progress, done=done, first=math.inf)
    assert value(replace(standing, progress=further)) >= value(standing)


@given(standings())
def test_a_broken_hard_rule_takes_everything(standing: Standing) -> None:
    hard = {k for k, rule in enumerate(standing.spec.rules) if rule.hard}
    progress = replace(standing.progress, broken=standing.progress.broken | hard)
    assert value(replace(standing, progress=progress)) == 0


@given(standings())
def test_labels_silence_and_staying_alive_earn_nothing_on_a_failure(standing: Standing) -> None:
    tidy = replace(standing, readable=standing.replies, wrong_reports=0)
    if not succeeded(standing):
        assert value(tidy) == value(standing)


@given(standings())
def test_a_wrong_report_and_a_broken_soft_rule_cost_safety(standing: Standing) -> None:
    wrong = replace(standing, wrong_reports=standing.wrong_reports + 1)
    assert terms.safety(wrong) < terms.safety(standing) or terms.safety(standing) == 0
    soft, hard = (
        frozenset(k for k, rule in enumerate(standing.spec.rules) if rule.hard is told)
        for told in (False, True)
    )
    quiet = replace(standing, wrong_reports=0, unreported=0)
    kept, broken, violated = (
        terms.safety(replace(quiet, progress=replace(standing.progress, broken=rules)))
        for rules in (frozenset[int](), soft, hard)
    )
    assert (kept, broken, violated) == (1.0, 0.0 if soft else 1.0, 1.0)


@given(standings())
def test_a_parrot_of_reports_has_no_safety(standing: Standing) -> None:
    assert terms.safety(replace(standing, wrong_reports=2)) == 0


@given(standings(), st.floats(0, 0.49))
def test_a_guessed_report_costs_more_than_silence(standing: Standing, right: float) -> None:
    silent = replace(standing, wrong_reports=0, unreported=1)
    named, wrong = replace(silent, unreported=0), replace(silent, wrong_reports=1)
    guess = right * terms.safety(named) + (1 - right) * terms.safety(wrong)
    assert guess < terms.safety(silent) or terms.safety(named) == 0


@given(standings(), st.integers(0, 12), st.floats(0, 0.99))
def test_guessing_again_and_again_costs_more_than_silence(
    standing: Standing, guesses: int, right: float
) -> None:
    """Whoever guesses is not told which guess was right: all are sent."""
    silent = replace(standing, wrong_reports=0, unreported=1)
    hit = replace(silent, wrong_reports=guesses + 1, unreported=0)
    missed = replace(silent, wrong_reports=guesses + 2)
    assert right * terms.safety(hit) + (1 - right) * terms.safety(missed) <= terms.safety(silent)


@given(standings())
def test_an_unreported_fault_costs_what_a_wrong_report_does(standing: Standing) -> None:
    quiet = replace(standing, wrong_reports=0, unreported=0)
    costs = [
        terms.safety(quiet) - terms.safety(replace(quiet, **{k: 1})) for k in ("wrong_reports", "unreported")
    ]
    assert costs == pytest.approx([0.5 * terms.safety(quiet)] * 2)


@pytest.mark.parametrize("level", [0, 4, 9])
@pytest.mark.parametrize("family", SHORT_FAMILIES)
def test_no_fault_is_so_likely_that_a_guess_pays(family: str, level: int) -> None:
    missions = [generate(family, level, seed) for seed in range(60)]
    drawn = Counter(fault for spec in missions for fault in spec.acting(spec.clock_s))
    assert max(drawn.values(), default=0) < 0.5 * len(missions)


@given(standings(), st.integers(1, 9))
def test_valid_replies_do_not_dilute_unreadable_ones(standing: Standing, more: int) -> None:
    padded = replace(standing, replies=standing.replies + more, readable=standing.readable + more)
    assert terms.format_(padded) == terms.format_(standing)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_process_is_zero_at_the_start(spec: MissionSpec) -> None:
    assert terms.process(Standing(spec, spec.begin(), 0, 0, 0, 0)) == 0
    episode = Episode(spec, episode_seed=3)
    first = spec.advance(spec.begin(), episode.snapshot.truth)
    assert terms.process(Standing(spec, first, 0, 0, 0, 0)) == 0


# -- the rubric tree ---------------------------------------------------------------------------


def test_the_tree_has_one_child_for_each_term() -> None:
    assert tuple(name for name, _ in MissionRubric().named_rubrics()) == NAMES


@given(standings())
def test_the_components_are_the_terms_and_the_value(standing: Standing) -> None:
    rubric = MissionRubric()
    rubric(None, standing)
    expected = [value(standing), *(term(standing) for term in TERMS.values())]
    assert rubric.components == dict(zip(LOGGED, expected, strict=True))
    for name, term in TERMS.items():
        assert rubric.get_rubric(name).last_score == term(standing)


@given(standings())
def test_nothing_of_the_last_episode_is_left_after_a_reset(standing: Standing) -> None:
    rubric = MissionRubric()
    rubric(None, standing)
    rubric.reset()
    assert rubric.components == dict.fromkeys(LOGGED, 0.0)
    assert all(child.last_score is None for child in (rubric, *rubric.children()))
    assert rubric(None, standing) == value(standing)


def test_the_weights_are_those_of_the_formula() -> None:
    weights = [getattr(Weights(), field.name) for field in fields(Weights)]
    assert weights == [0.40, 0.25, 0.15, 0.10, 0.10]


@pytest.mark.parametrize(
    "weights",
    [
        {"objective": 0.5},
        {"objective": 0.6, "safety": -0.1},  # sums to 1
        {"objective": math.nan},
        {"objective": math.inf},
    ],
)
def test_weights_are_not_negative_and_sum_to_1(weights: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="sum to 1"):
        Weights(**weights)


def test_weights_can_be_chosen() -> None:
    weights = Weights(objective=0.5, process=0.2, efficiency=0.1, safety=0.1, format=0.1)
    rubric = MissionRubric(weights)
    spec = SPECS[0]
    done = replace(spec.begin(), done=len(spec.directives))
    rubric(None, Standing(spec, done, 1, 1, 0, 0))
    assert rubric.value == pytest.approx(1.0)


# -- real flights ------------------------------------------------------------------------------


def test_a_flight_earns_what_its_components_say(flights) -> None:
    for record in flights:
        first, *later = record.observations
        assert first.components == dict.fromkeys(LOGGED, 0.0)
        assert first.reward is None
        rewards, total = [observation.reward for observation in later], 0.0
        for n, observation in enumerate(later, start=1):
            assert all(0 <= score <= 1 for score in observation.components.values())
            total = observation.components["reward/overall"]
            assert math.fsum(rewards[:n]) == pytest.approx(total, abs=1e-9)
            if observation.components["reward/process"] == 0:
                assert total == 0
        won = later[-1].outcome == "succeeded"
        assert won == (later[-1].components["reward/primary"] == 1)
        assert (0.65 <= total <= 1) if won else (0 <= total < 0.25), str(record)


def test_flights_succeed_and_fail(flights) -> None:
    """So that the test above says something about both."""
    assert {record.observations[-1].outcome for record in flights} >= {"succeeded", "failed"}


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32),
    spec=st.sampled_from(SPECS),
    unreadable=st.sets(st.integers(0, 11), max_size=4),
    give_up=st.integers(0, 20),
)
def test_any_sequence_of_commands_earns_its_return_and_no_more(
    seed: int, spec: MissionSpec, unreadable: set[int], give_up: int
) -> None:
    rng = np.random.default_rng(seed)
    targets = tuple(name for name, _ in spec.targets)
    episode = Episode(spec, episode_seed=seed % 2**31)
    rewards: list[float] = []
    while episode.outcome == "ongoing":
        command: AnyCommand = draw(rng, targets)
        if episode.turns in unreadable:
            command = Unreadable(text="?")
        if episode.turns == give_up:
            command = EndMission()
        rewards.append(episode.step(command).reward or 0.0)
    total = episode.rubric.components["reward/overall"]
    assert math.fsum(rewards) == pytest.approx(total, abs=1e-9)
    assert all(-1 <= reward <= 1 for reward in rewards)
    assert 0.65 <= total <= 1 if episode.outcome == "succeeded" else 0 <= total < 0.25
    bad = sum(turn in unreadable and turn != give_up for turn in range(episode.turns))
    assert episode.rubric.components["reward/format"] == 1 - bad / spec.turns


@pytest.mark.parametrize("family", ["detumble-v0", "retarget-v0", "hold-v0"])
def test_setting_out_late_earns_less(family: str) -> None:
    """Where no window has to be waited for: there, a later start saves the gas of holding until then."""
    spec = generate(family, 1, seed=11)
    won = flight.fly(spec, Reference(), 4)
    assert won.succeeded
    for stall in (Coast(duration_s=30), Check(subsystem="power"), Slew(target="nowhere", rate_deg_s=1)):
        stalled = flight.replay(spec, (stall, *won.commands), 4)
        assert stalled.succeeded
        assert stalled.return_ < won.return_


def test_what_the_estimate_believes_earns_nothing() -> None:
    """A biased gyro that no star tracker corrects: the onboard sequencer goes on, the score does not."""
    bias = GyroBias(5.0, (0.0, 0.0, math.radians(0.45)))
    spec = generate("retarget-v0", 1, 4).model_copy(update={"faults": (bias,)})
    target = next(d.target for d in spec.directives if isinstance(d, Point))
    sent = (SelectAttitudeSource(source="gyro"), Slew(target=target, rate_deg_s=0.5))
    flown = flight.replay(spec, sent, 4)
    assert max(view.telemetry.directive for view in flown.views) == 2
    assert flown.components["reward/process"] < 0.5
    assert not flown.succeeded


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_giving_up_at_once_earns_next_to_nothing(spec: MissionSpec) -> None:
    episode = Episode(spec, episode_seed=0)
    observation = episode.step(EndMission())
    assert observation.outcome == "ended"
    assert observation.done
    assert 0 <= (observation.reward or 0.0) < 0.02


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_doing_nothing_ends_in_failure(spec: MissionSpec) -> None:
    episode = Episode(spec, episode_seed=0)
    while episode.outcome == "ongoing":
        episode.step(Coast(duration_s=1200))
    assert episode.outcome in ("failed", "timed_out", "out_of_turns")
    assert episode.rubric.components["reward/overall"] < 0.25
