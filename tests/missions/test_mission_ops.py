"""The flagship: long, all of it needed, and lost by early waste."""

from collections import Counter
from itertools import pairwise

import pytest

from orbital_ops_env.client.render import PolicyView
from orbital_ops_env.commands import AnyCommand, Check, Coast, Hold
from orbital_ops_env.missions import mission_ops
from orbital_ops_env.missions.catalog import LEVELS, generate
from orbital_ops_env.missions.directives import Charge, Point, ReduceRate, SendData, TakeImage
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.missions.plan import RESERVE_G
from orbital_ops_env.missions.rules import BatteryFloor, KeepOut, QuietWindow, RateCap, Reserve
from orbital_ops_env.policies.diagnosis import Diagnosis
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.policies.wasteful import Wasteful
from orbital_ops_env.server.flight import Flight, fly
from orbital_ops_env.studies.record import record

SEEDS = range(3)
PHASES = ("rates", "first star", "quiet window", "image", "downlink", "charge", "survey", "exposure")


@pytest.fixture(scope="module")
def missions() -> list[MissionSpec]:
    return [generate(mission_ops.FAMILY, level, seed) for level in LEVELS for seed in SEEDS]


@pytest.fixture(scope="module")
def hardest(missions: list[MissionSpec]) -> list[Flight]:
    """Missions of the last level that `reference` has flown."""
    return [fly(spec, Reference(), spec.seed) for spec in missions if spec.level == 9]


def phases(spec: MissionSpec) -> dict[str, range]:
    """Numbers of the directives of each phase."""
    last = len(spec.directives) - 1
    early = {name: range(n, n + 1) for n, name in enumerate(PHASES[:6])}
    return early | {"survey": range(6, last), "exposure": range(last, last + 1)}


def real_turns(flight: Flight) -> int:
    """Turns of work: no checks, no refused commands, no command like the one before."""
    before = (None, *flight.commands)
    sent = zip(before, flight.commands, flight.views[1:], strict=False)
    return sum(
        not isinstance(command, Check) and view.telemetry.reason != "refused" and command != last
        for last, command, view in sent
    )


def test_a_mission_has_every_phase_in_order(missions: list[MissionSpec]) -> None:
    for spec in missions:
        row = mission_ops.LEVELS[spec.level]
        kinds = [type(directive) for directive in spec.directives]
        assert kinds == [ReduceRate, Point, Point, TakeImage, SendData, Charge, *[Point] * (row.targets + 1)]
        closes = [directive.closes_s for directive in spec.directives]
        assert closes == sorted(closes)
        assert spec.turns == row.turns


def test_ten_to_sixty_flight_rules_of_every_kind(missions: list[MissionSpec]) -> None:
    counts = {level: {len(s.rules) for s in missions if s.level == level} for level in LEVELS}
    assert counts[0] == {10}
    assert counts[9] == {60}
    assert all(max(counts[a]) < min(counts[b]) for a, b in pairwise(LEVELS))
    for spec in missions:
        kinds = Counter(type(rule) for rule in spec.rules)
        assert set(kinds) >= {QuietWindow, Reserve, BatteryFloor, RateCap, KeepOut}


def test_a_reserve_for_each_phase_leaves_what_later_ones_take(missions: list[MissionSpec]) -> None:
    """The later a reserve ends, the less it keeps, and the budget is above all of them."""
    for spec in missions:
        reserves = [rule for rule in spec.rules if isinstance(rule, Reserve)]
        kept = [rule.propellant_kg for rule in sorted(reserves, key=lambda r: r.until_s or spec.clock_s)]
        assert kept == sorted(kept, reverse=True)
        assert kept[0] < spec.start.propellant_kg
        assert kept[-1] == 1e-3 * RESERVE_G


def test_one_fault_breaks_out_during_the_survey(missions: list[MissionSpec]) -> None:
    for spec in missions:
        (fault,) = spec.faults
        assert fault.kind in mission_ops.KINDS
        survey = phases(spec)["survey"]
        assert fault.onset_s > spec.directives[survey[0] - 3].closes_s
        assert fault.onset_s < spec.directives[survey[-1]].closes_s
    assert {fault.kind for spec in missions for fault in spec.faults} == set(mission_ops.KINDS)


def test_forty_turns_of_real_work_at_the_last_level(hardest: list[Flight]) -> None:
    assert all(flight.succeeded for flight in hardest)
    assert min(map(real_turns, hardest)) >= 40


class Skips(Reference):
    """`reference` that drifts through the directives of a phase, or fires if it is the quiet window."""

    def __init__(self, skipped: range) -> None:
        super().__init__()
        self._skipped = skipped

    def act(self, view: PolicyView) -> AnyCommand:
        """The next command."""
        if view.telemetry.directive - 1 in self._skipped:
            return self._instead(view)
        return super().act(view)

    def _instead(self, view: PolicyView) -> AnyCommand:
        if view.telemetry.directive == 1 + PHASES.index("quiet window"):
            return Hold(target=view.brief.targets[0], deadband_deg=0.2, duration_s=120)
        return Coast(duration_s=120)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("level", [0, 9])
def test_no_phase_can_be_left_out(level: int, phase: str) -> None:
    spec = generate(mission_ops.FAMILY, level, 0)
    flight = fly(spec, Skips(phases(spec)[phase]), spec.seed)
    assert flight.outcome in ("failed", "timed_out")
    assert flight.views[-1].telemetry.directive <= phases(spec)[phase][-1] + 1


def nothing_wrong(diagnosis: Diagnosis, view: PolicyView) -> None:
    """What one finds that does not look."""


def test_a_fault_must_be_dealt_with(hardest: list[Flight], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Diagnosis, "act", nothing_wrong)
    for flight in hardest:
        assert not fly(flight.spec, Reference(), flight.episode_seed).succeeded


def test_early_waste_breaks_a_later_phase(hardest: list[Flight]) -> None:
    """The wasteful flight serves its first directives as the other does, and breaks a hard rule later.

    Most often a reserve: turns that end early also leave the craft waiting where the panel gives little.
    """
    broken: list[str] = []
    for flight in hardest:
        wasted = fly(flight.spec, Wasteful(), flight.episode_seed)
        progress = record("wasteful", wasted).progress[-1]
        rules = [flight.spec.rules[k] for k in progress.broken]
        broken += [rule.kind for rule in rules if rule.hard]
        assert progress.done >= phases(flight.spec)["charge"][0]
    assert len(broken) == len(hardest)
    assert broken.count("reserve") > len(hardest) / 2
