"""Each guard of the reward, removed: the test named beside it must fail."""

import inspect
import textwrap
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, cast

import pytest
from hypothesis import Phase, settings

from orbital_ops_env import commands
from orbital_ops_env.missions import directives, rules
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.rewards import terms
from orbital_ops_env.rewards.rubric import MissionRubric, Weights
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.sim.plant import Plant
from orbital_ops_env.studies.reward_page import TERMS, card

ROOT = Path(__file__).parents[2]
RETURN, PROGRESS = "tests/rewards/test_return.py", "tests/missions/test_progress.py"
DIRECTIVES = "tests/missions/test_directives.py"
POLICIES = "tests/redteam/test_policies.py"
FAULTS, COMMANDS = "tests/server/test_faults.py", "tests/contract/test_commands.py"
QUIET = "tests/missions/test_quiet_window.py"
PROFILE = "one example that fails is enough"
settings.register_profile(PROFILE, database=None, phases=[Phase.explicit, Phase.generate], derandomize=True)


@dataclass(frozen=True)
class Guard:
    """A line of a function, what stands there without the guard, and the test that must fail then."""

    of: Callable[..., Any]
    line: str
    without: str
    test: str

    def __str__(self) -> str:
        return f"{self.of.__qualname__}: {self.line}"


GUARDS = [
    # -- success
    Guard(
        terms.objective,
        "standing.spec.succeeded(standing.progress)",
        "standing.progress.done == len(standing.spec.directives)",
        f"{RETURN}::test_a_broken_hard_rule_takes_everything",
    ),
    Guard(
        MissionSpec.succeeded,
        " and not self.violated(progress)",
        "",
        f"{RETURN}::test_a_broken_hard_rule_takes_everything",
    ),
    Guard(
        MissionSpec.violated,
        "self.rules[k].hard for k",
        "True for k",
        f"{PROGRESS}::test_a_broken_soft_rule_does_not_fail_the_mission",
    ),
    Guard(
        MissionSpec.decided,
        "or self.violated(progress)",
        "",
        f"{PROGRESS}::test_a_broken_hard_rule_cannot_be_compensated",
    ),
    Guard(
        MissionSpec.decided,
        "or self.missed(progress)",
        "",
        f"{PROGRESS}::test_a_window_that_closes_first_fails_the_mission",
    ),
    Guard(
        Episode.step,
        "self.spec.advance(self._true, snapshot.truth)",
        "self.spec.advance(self._true, snapshot.estimate)",
        f"{RETURN}::test_what_the_estimate_believes_earns_nothing",
    ),
    Guard(
        Plant.__init__,
        "{**(others or {}), **targets}",
        "dict(targets)",
        f"{POLICIES}::test_a_wrong_name_of_the_catalogue_costs_a_turn",
    ),
    # -- process
    Guard(
        MissionSpec.completion,
        "if self.violated(progress):",
        "if False:",
        f"{RETURN}::test_a_broken_hard_rule_takes_everything",
    ),
    Guard(
        MissionSpec.completion,
        "/ len(self.directives)",
        "",
        f"{RETURN}::test_every_term_and_the_value_lie_between_0_and_1",
    ),
    Guard(
        directives.Point.progress,
        "min(best / first, 1.0)",
        "best / first",
        f"{PROGRESS}::test_progress_of_a_directive_is_monotone",
    ),
    Guard(
        directives.Point.progress,
        " if first > 0 else 0.0",
        "",
        f"{PROGRESS}::test_progress_of_a_directive_is_monotone",
    ),
    Guard(
        directives.Point.progress,
        "min(dwelt / self.dwell_s, 1.0)",
        "dwelt / self.dwell_s",
        f"{PROGRESS}::test_progress_of_a_directive_is_monotone",
    ),
    Guard(
        directives.Point.progress,
        "0.5 * nearer",
        "1.0 * nearer",
        f"{PROGRESS}::test_passing_a_target_is_worth_half_a_directive_at_most",
    ),
    Guard(
        MissionSpec._pursue,
        "min(since, t) if holds else math.inf",
        "min(since, t)",
        f"{PROGRESS}::test_a_dwell_must_be_unbroken",
    ),
    Guard(
        MissionSpec._pursue,
        "dwelt = max(dwelt, t - since)",
        "dwelt += (t - since) if holds else 0.0",
        f"{PROGRESS}::test_coming_again_earns_nothing",
    ),
    Guard(
        MissionSpec._pursue,
        "directive.opens_s <= t <=",
        "t <=",
        f"{PROGRESS}::test_nothing_counts_before_the_window_opens",
    ),
    Guard(
        MissionSpec._pursue,
        "broken |= breaks[n]",
        "broken = frozenset(breaks[n])",
        f"{PROGRESS}::test_a_soft_rule_once_broken_stays_broken",
    ),
    Guard(
        directives.Point.progress,
        "0.5 * min",
        "0.4 * min",
        f"{PROGRESS}::test_half_is_for_coming_nearer_and_half_for_staying",
    ),
    Guard(
        MissionSpec._pursue,
        "min(directive.closes_s, self.clock_s)",
        "directive.closes_s",
        f"{PROGRESS}::test_the_clock_ends_a_directive_whose_window_is_longer",
    ),
    Guard(
        MissionSpec.decided,
        "or progress.t >= self.clock_s",
        "",
        f"{PROGRESS}::test_the_clock_ends_a_directive_whose_window_is_longer",
    ),
    # -- what directives ask for
    Guard(
        directives.TakeImage.holds,
        " & track.imaging",
        "",
        f"{DIRECTIVES}::test_pointing_without_the_imager_is_no_image",
    ),
    Guard(
        directives.SendData.holds,
        " & track.sending",
        "",
        f"{DIRECTIVES}::test_pointing_without_the_radio_sends_nothing",
    ),
    Guard(
        directives.Charge.errors,
        "self.level - track.battery",
        "0.0 * track.battery",
        f"{DIRECTIVES}::test_a_charge_is_done_at_its_level",
    ),
    # -- flight rules
    Guard(
        rules.RateCap.in_force,
        "(t >= self.from_s) & ",
        "",
        f"{PROGRESS}::test_a_rate_cap_counts_from_its_time_on",
    ),
    Guard(
        rules.RateCap.in_force,
        " & (t <= until)",
        "",
        f"{DIRECTIVES}::test_a_rule_counts_between_its_times",
    ),
    Guard(
        rules.Reserve.broken,
        "track.propellant_kg < self.propellant_kg",
        "track.propellant_kg < 0",
        f"{PROGRESS}::test_a_broken_hard_rule_cannot_be_compensated",
    ),
    Guard(
        rules.SunKeepOut.broken,
        "< self.angle_rad",
        "< 0",
        f"{PROGRESS}::test_looking_at_the_sun_breaks_the_keep_out",
    ),
    Guard(
        rules.KeepOut.broken,
        "< self.angle_rad",
        "< 0",
        f"{DIRECTIVES}::test_looking_near_a_forbidden_target_breaks_its_rule",
    ),
    Guard(
        rules.BatteryFloor.broken,
        "track.battery < self.level",
        "track.battery < 0",
        f"{DIRECTIVES}::test_a_battery_under_its_floor_breaks_the_rule",
    ),
    Guard(
        rules.RateCap.broken,
        "> self.rate_rad_s",
        "> np.inf",
        f"{PROGRESS}::test_a_broken_soft_rule_does_not_fail_the_mission",
    ),
    Guard(
        rules.QuietWindow.broken,
        "return fired &",
        "return fired & False &",
        f"{QUIET}::test_firing_in_it_breaks_it_in_the_seconds_of_the_pulse",
    ),
    # -- efficiency
    Guard(
        terms.efficiency,
        "max(gas, 0.0)",
        "gas",
        f"{RETURN}::test_every_term_and_the_value_lie_between_0_and_1",
    ),
    Guard(
        terms.efficiency,
        "(progress.propellant_kg - spec.reserve_kg)",
        "progress.propellant_kg",
        f"{RETURN}::test_the_reserve_is_no_budget",
    ),
    # -- safety
    Guard(
        terms.safety, "max(1.0", "(lambda s, _: s)(1.0", f"{RETURN}::test_a_parrot_of_reports_has_no_safety"
    ),
    Guard(
        terms.safety,
        "standing.wrong_reports + ",
        "",
        f"{RETURN}::test_a_guessed_report_costs_more_than_silence",
    ),
    Guard(terms.safety, " + standing.unreported", "", f"{FAULTS}::test_a_fault_left_unreported_costs_safety"),
    Guard(
        terms.safety,
        "if not rule.hard",
        "",
        f"{RETURN}::test_a_wrong_report_and_a_broken_soft_rule_cost_safety",
    ),
    Guard(
        Episode._judge_report,
        "self._as_flown.acting(self.snapshot.began)",
        "self._as_flown.acting(self.snapshot.t)",
        f"{FAULTS}::test_a_report_sent_before_the_onset_is_wrong_though_it_ends_after",
    ),
    Guard(
        Episode._standing,
        "self._as_flown.acting(self.snapshot.began)",
        "self._as_flown.acting(self.snapshot.t)",
        f"{FAULTS}::test_a_fault_left_unreported_costs_safety",
    ),
    Guard(Episode._standing, " - self._named", "", f"{FAULTS}::test_a_fault_left_unreported_costs_safety"),
    Guard(
        terms.safety,
        "len(standing.progress.broken & set(soft)) / len(soft)",
        "bool(standing.progress.broken & set(soft))",
        f"{RETURN}::test_safety_is_the_share_of_soft_rules_kept",
    ),
    Guard(
        Episode._judge_report,
        "self._wrong_reports += 1",
        "self._wrong_reports = 1",
        f"{FAULTS}::test_two_wrong_reports_cost_twice_and_a_refused_one_nothing",
    ),
    Guard(
        Episode._judge_report,
        ' or self.snapshot.reason == "refused"',
        "",
        f"{FAULTS}::test_two_wrong_reports_cost_twice_and_a_refused_one_nothing",
    ),
    Guard(
        Episode._judge_report,
        "self._named.add(report)",
        "self._named |= self._as_flown.acting(self.snapshot.began)",
        f"{FAULTS}::test_a_report_names_one_fault_of_two",
    ),
    Guard(
        Episode._standing,
        "len(unreported)",
        "min(len(unreported), 1)",
        f"{FAULTS}::test_a_report_names_one_fault_of_two",
    ),
    Guard(
        MissionSpec.acting,
        "f.onset_s <= t",
        "f.onset_s < t",
        f"{FAULTS}::test_a_fault_acts_from_its_onset_on",
    ),
    # -- format
    Guard(
        terms.format_,
        "/ standing.spec.turns",
        "/ max(standing.replies, 1)",
        f"{RETURN}::test_valid_replies_do_not_dilute_unreadable_ones",
    ),
    Guard(
        Episode.step,
        "not isinstance(command, Unreadable)",
        "True",
        f"{RETURN}::test_an_unreadable_reply_costs_a_share_of_the_turns",
    ),
    Guard(
        commands._fields,
        'if not (reply.startswith("{") and reply.endswith("}")):',
        "reply = reply.strip()\n    if False:",
        f"{COMMANDS}::test_a_telecommand_that_is_not_the_whole_reply_is_unreadable",
    ),
    Guard(
        commands._fields,
        "object_pairs_hook=_unique, ",
        "",
        f"{COMMANDS}::test_a_key_given_twice_is_unreadable",
    ),
    # -- the sum
    Guard(
        MissionRubric._value,
        'scores["objective"] * extras',
        "extras",
        f"{RETURN}::test_labels_silence_and_staying_alive_earn_nothing_on_a_failure",
    ),
    Guard(
        MissionRubric.forward,
        "self.value - before",
        "self.value",
        f"{RETURN}::test_step_rewards_sum_to_the_last_value_in_any_order",
    ),
    Guard(
        MissionRubric.reset,
        "self.value = 0.0",
        "pass",
        f"{RETURN}::test_nothing_of_the_last_episode_is_left_after_a_reset",
    ),
    Guard(
        Weights.__post_init__,
        "min(values) >= 0 and ",
        "",
        f"{RETURN}::test_weights_are_not_negative_and_sum_to_1",
    ),
    Guard(
        Weights.__post_init__,
        " and abs(sum(values) - 1) <= SUM_TOLERANCE",
        "",
        f"{RETURN}::test_weights_are_not_negative_and_sum_to_1",
    ),
]


@contextmanager
def removed(guard: Guard) -> Generator[None]:
    """The function without its guard, under every name that it has."""
    function = cast(FunctionType, guard.of)
    source = textwrap.dedent(inspect.getsource(function))
    there = source.count(guard.line)
    assert there == 1, (
        f"{function.__qualname__} holds {guard.line!r} {there} times, expected once: "
        "put the guard back, or change its row in GUARDS"
    )
    namespace = dict(function.__globals__)
    exec(compile(source.replace(guard.line, guard.without), "<without guard>", "exec"), namespace)
    code, function.__code__ = function.__code__, namespace[function.__name__].__code__
    try:
        yield
    finally:
        function.__code__ = code


def fails(test: str) -> bool:
    """Whether a test fails, run by pytest in this process."""
    before = settings.get_current_profile_name()
    options = ("-q", "-x", "--no-header", "-p", "no:cacheprovider", f"--hypothesis-profile={PROFILE}")
    try:
        status = pytest.main([*options, str(ROOT / test)])
    finally:
        settings.load_profile(before)
    assert status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED), f"{test}: {status!r}"
    return status == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("guard", GUARDS, ids=str)
def test_a_guard_that_is_removed_is_missed(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    with removed(guard):
        assert fails(guard.test), f"{guard.test} does not notice that {guard} is gone"


OTHERS = {
    "test_the_red_team_earns_next_to_nothing",
    "test_dodging_success_costs_more_than_half",
    "test_giving_up_at_once_earns_next_to_nothing",
    "test_finishing_earlier_or_with_more_gas_never_earns_less",
}
"""Tests of the reward card that prove what no single line guards."""


def test_every_test_of_the_reward_card_guards_something() -> None:
    cards = [card(score) for _, score in TERMS.values()]
    told = {exploit.test for each in cards for exploit in each.exploits}
    assert told - {guard.test.split("::")[1] for guard in GUARDS} == OTHERS
