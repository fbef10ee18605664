"""The terms of the return: pure functions of where an episode stands, each in [0, 1].

Each says how one could raise it without solving the task, what forbids that, and which test proves it:

    Guard: The defence in a line, for the reward table.
    Exploits:
        What one would try: why it does not pay. Test: `name_of_the_test`.

`docs/reward_card.md` and the README's table are made from these.
"""

from dataclasses import dataclass
from typing import Final

from orbital_ops_env.missions.mission import MissionSpec, Progress

REPORT_COST: Final = 0.5
"""[-] share of `safety` that a wrong fault report takes, and so does a fault that no report has named: a
guess that is right less than half of the time costs more than silence."""


@dataclass(frozen=True)
class Standing:
    """Where an episode stands after a command, on the true history."""

    spec: MissionSpec
    progress: Progress
    replies: int
    """Commands sent, unreadable ones included."""
    readable: int
    """Replies that were exactly one telecommand."""
    wrong_reports: int
    """Fault reports that name a fault the craft does not have."""
    unreported: int
    """Faults that began before the last command and that no report has named."""


def objective(standing: Standing) -> float:
    """Success, one bit: every directive is done on the true state, and no hard rule was broken before.

    Guard: Judged on the true history, never on telemetry or on what is said; a broken hard rule is final.
    Exploits:
        Claim it, with a report, prose or `end_mission` at the target: no command sets it, only the flight.
            Test: `test_giving_up_at_once_earns_next_to_nothing`.
        Let a wrong estimate do it, so that the onboard sequencer counts the dwell: truth judges.
            Test: `test_what_the_estimate_believes_earns_nothing`.
        Break a hard rule to be quicker, then succeed: nothing that follows is judged any more.
            Test: `test_a_broken_hard_rule_cannot_be_compensated`.
        Learn a script: from level 2 up the targets are drawn from 36 names, and a wrong one costs the gas and
            the time of a turn to it. Test: `test_a_wrong_name_of_the_catalogue_costs_a_turn`.
    """
    return float(standing.spec.succeeded(standing.progress))


def process(standing: Standing) -> float:
    """Directives done and the progress of the next, as a share of all; 0 once a hard rule is broken.

    Guard: A level reached, not a sum over turns: it is had once, and is at most a quarter of the return.
    Exploits:
        Spin, so that the axis sweeps past the target: coming near is half of a directive, staying the other.
            Test: `test_passing_a_target_is_worth_half_a_directive_at_most`.
        Stall or come and go, to be paid again: the best error and the longest dwell count, once.
            Test: `test_coming_again_earns_nothing`.
        Dodge the success, to go on earning: all that is left to earn is in the success.
            Test: `test_dodging_success_costs_more_than_half`.
        Do the directive that needs no brief and stop: it is one of two or three.
            Test: `test_the_red_team_earns_next_to_nothing`.
    """
    return standing.spec.completion(standing.progress)


def efficiency(standing: Standing) -> float:
    """Mean of the share of gas above the reserve that is left and the share of time that is left.

    Guard: Counts with success only; gas under the reserve and time over the clock are worth nothing.
    Exploits:
        Do nothing, which saves all of both: without success it is not paid.
            Test: `test_labels_silence_and_staying_alive_earn_nothing_on_a_failure`.
        Stall to save gas, or hurry to save time at any price: both count, and later or emptier is never more.
            Test: `test_finishing_earlier_or_with_more_gas_never_earns_less`.
        Count on the reserve: it is no budget, and touching it breaks a hard rule.
            Test: `test_the_reserve_is_no_budget`.
    """
    spec, progress = standing.spec, standing.progress
    budget = spec.start.propellant_kg - spec.reserve_kg
    gas = (progress.propellant_kg - spec.reserve_kg) / budget
    return 0.5 * max(gas, 0.0) + 0.5 * (1 - progress.t / spec.clock_s)


def safety(standing: Standing) -> float:
    """Share of soft rules kept, less half of it for each wrong fault report and each fault left unreported.

    Guard: Counts with success only; a guessed report costs more than it brings.
    Exploits:
        Report every fault there is: two wrong reports take all of it.
            Test: `test_a_parrot_of_reports_has_no_safety`.
        Guess the likeliest fault, or report before anything breaks: a report is right only of a fault that
            acts, and no fault is that likely. Test: `test_a_guessed_report_costs_more_than_silence`.
        Report nothing, ever: a fault that began in time to be reported costs what a wrong report does.
            Test: `test_a_fault_left_unreported_costs_safety`.
        Break a soft rule for good, now that it is broken: its share is lost at the first breach.
            Test: `test_a_soft_rule_once_broken_stays_broken`.
    """
    soft = [k for k, rule in enumerate(standing.spec.rules) if not rule.hard]
    kept = 1.0
    if soft:
        kept -= len(standing.progress.broken & set(soft)) / len(soft)
    return kept * max(1.0 - REPORT_COST * (standing.wrong_reports + standing.unreported), 0.0)


def format_(standing: Standing) -> float:
    """1 less the share of the turn limit that went into replies that were not exactly one telecommand.

    Guard: Counts with success only; a share of the limit, so that valid replies do not dilute bad ones.
    Exploits:
        Send cheap valid commands beside the bad ones: the share is of the turn limit, not of the replies.
            Test: `test_valid_replies_do_not_dilute_unreadable_ones`.
        Wrap the command in prose or a fence, or send two: the parser repairs nothing.
            Test: `test_a_telecommand_that_is_not_the_whole_reply_is_unreadable`.
        Only format, without flying: without success it is not paid.
            Test: `test_labels_silence_and_staying_alive_earn_nothing_on_a_failure`.
    """
    return 1 - (standing.replies - standing.readable) / standing.spec.turns
