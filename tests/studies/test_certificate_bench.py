"""The certificate's bench: labels that follow from construction, and what it makes of certificates."""

import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbital_ops_env.client.render import brief_lines, parse_brief
from orbital_ops_env.commands import Coast
from orbital_ops_env.curriculum.certificate import Certificate, Flown, Verdict
from orbital_ops_env.missions.catalog import LEVELS, SHORT_FAMILIES, generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.server import flight
from orbital_ops_env.server.episode import Episode
from orbital_ops_env.server.observe import brief
from orbital_ops_env.sim.state import SpacecraftConfig
from orbital_ops_env.sim.variation import draw_variation
from orbital_ops_env.studies import certificate, figures, labelled
from orbital_ops_env.studies.bound import least_gas_kg
from orbital_ops_env.studies.certificate import BARS, MISSIONS, Case, certified, figure
from orbital_ops_env.studies.labelled import LABELS, LOST

MISSION = st.builds(generate, st.sampled_from(SHORT_FAMILIES), st.sampled_from(LEVELS), st.integers(0, 10**6))
SLOTS = st.integers(0, MISSIONS - 1)


# -- labels ------------------------------------------------------------------------------------


def test_slots_visit_every_short_family_and_level() -> None:
    cells = [labelled.cell(slot) for slot in range(len(SHORT_FAMILIES) * len(LEVELS))]
    assert sorted(cells) == sorted(product(SHORT_FAMILIES, LEVELS))
    assert {family for family, _ in cells[: len(SHORT_FAMILIES)]} == set(SHORT_FAMILIES)


def test_no_episode_seed_tells_two_labels_or_a_label_and_a_certificate() -> None:
    seeds = [seed for slot in range(MISSIONS) for seed in labelled.judged_seeds(slot)]
    assert len(set(seeds)) == len(seeds) == 64 * MISSIONS
    assert max(seeds) < certificate.CERTIFIED_SEED


@given(MISSION)
def test_a_starved_mission_has_less_than_its_bound_and_is_otherwise_the_same(spec: MissionSpec) -> None:
    starved = labelled.starved(spec)
    if least_gas_kg(spec) < 1.25e-5:
        assert starved is None
        return
    assert starved is not None
    told = parse_brief(brief_lines(brief(starved)))
    assert told.propellant_g > max(rule.limit for rule in told.rules if rule.kind == "reserve")
    assert MissionSpec.model_validate(starved.model_dump()) == starved
    assert 0 < starved.start.propellant_kg - starved.reserve_kg < least_gas_kg(starved) == least_gas_kg(spec)
    assert starved.model_copy(update={"start": spec.start}) == spec


@given(MISSION, SLOTS)
def test_a_coin_flip_is_lost_on_a_share_of_the_draws(spec: MissionSpec, slot: int) -> None:
    flip = labelled.coin_flip(spec, slot)
    assert MissionSpec.model_validate(flip.model_dump()) == flip
    assert flip.rules[:-1] == spec.rules
    lost = labelled.charges(spec, labelled.judged_seeds(slot)) < flip.rules[-1].level  # type: ignore[union-attr]
    assert LOST[0] - 1 / 64 <= lost.mean() <= LOST[1] + 1 / 64


@given(MISSION)
def test_a_trivial_mission_is_one_directive_that_nothing_but_drifting_is_asked_for(spec: MissionSpec) -> None:
    easy = labelled.effortless(spec)
    if easy is None:
        return
    assert MissionSpec.model_validate(easy.model_dump()) == easy
    (directive,) = easy.directives
    assert directive.kind in ("rate", "point", "charge")
    assert directive.opens_s == 0
    assert directive.closes_s == spec.directives[0].closes_s
    assert easy.reserve_kg == spec.reserve_kg
    assert least_gas_kg(easy) == 0


@pytest.mark.parametrize("family", SHORT_FAMILIES)
def test_labels_hold_in_flight(family: str) -> None:
    """The unsolvable are lost, the trivial won by drifting, and a coin flip falls as its seed says."""
    specs = (generate(family, 2, seed) for seed in range(3, 30))
    spec = next(spec for spec in specs if labelled.starved(spec) and labelled.effortless(spec))
    starved, easy, flip = labelled.starved(spec), labelled.effortless(spec), labelled.coin_flip(spec, 3)
    assert starved is not None
    assert easy is not None
    for seed in (5, 6):
        assert not flight.by_name(starved, "reference", seed).succeeded
        assert flight.by_name(easy, "idle", seed).succeeded
        assert not flight.by_name(spec, "idle", seed).succeeded
    floor = flip.rules[-1].level  # type: ignore[union-attr]
    craft, seeds = SpacecraftConfig(), range(100, 108)
    drawn = [draw_variation(flip.start, seed, craft)[1].battery_fraction for seed in seeds]
    for seed, charge in zip(seeds, drawn, strict=True):
        episode = Episode(flip, seed)
        episode.step(Coast(duration_s=30))
        assert episode.outcome == ("failed" if charge < floor else "ongoing")
    lucky = seeds[int(np.argmax(drawn))]
    assert (
        flight.by_name(flip, "reference", lucky).succeeded
        == flight.by_name(spec, "reference", lucky).succeeded
    )


def test_a_good_mission_is_forgiven_one_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of slot 0: the first mission loses twice, the second once."""
    flown: list[tuple[int, int]] = []

    class Told:
        def __init__(self, spec: MissionSpec, policy: str, seed: int) -> None:
            flown.append((spec.seed, seed))
            lost = {labelled.FIRST_SEED: 2, labelled.FIRST_SEED + 1: 1}[spec.seed]
            self.succeeded = seed not in labelled.judged_seeds(0)[3 : 3 + lost]

    monkeypatch.setattr(flight, "by_name", Told)
    assert labelled.good(0).seed == labelled.FIRST_SEED + 1
    assert len(flown) == 5 + 64


def test_a_cell_without_a_label_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"level=0: none of seeds 56000 to 56999 can be labelled"):
        labelled.first(lambda spec: None, 0)


# -- certificates ------------------------------------------------------------------------------


@pytest.mark.slow
def test_certificates_are_right_about_a_handful_of_real_missions() -> None:
    spec = generate("retarget-v0", 2, 1)
    starved, easy = labelled.starved(spec), labelled.effortless(spec)
    specs = {"unsolvable": starved, "coin_flip": labelled.coin_flip(spec, 3), "trivial": easy, "good": spec}
    for label in LABELS:
        found = specs[label]
        assert found
        case = Case(label, 3, found)
        told = certified(case)
        assert case.right(told), (label, told.evidence)
        assert {each.episode_seed for each in told.evidence} <= set(range(700_048, 700_064))


def test_shares_are_counted_by_label_with_their_intervals() -> None:
    spec = generate("hold-v0", 0, 1)
    flown = [
        (Case("good", 0, spec), told("accepted")),
        (Case("good", 1, spec), told("trivial")),
        *((Case(label, 0, spec), told("unsolved")) for label in LABELS[:2]),
        (Case("trivial", 0, spec), told("accepted")),
    ]
    numbers = figure(flown)
    assert [numbers[key] for key in BARS] == [1.0, 1.0, 0.0, 0.5]
    assert numbers["accept_good_ci95"] == pytest.approx((0.0945, 0.9055), abs=1e-4)
    assert numbers["accept_good_counts"] == {"missions": 2, "right": 1, "accepted": 1, "trivial": 1}
    assert [row["right"] for row in numbers["missions"]] == [True, False, True, True, False]


def told(verdict: Verdict) -> Certificate:
    return Certificate("hash", verdict, (Flown("reference", 1, verdict != "unsolved"),))


@pytest.mark.parametrize(("options", "written"), [(["--missions", "1"], 0), (["--workers", "1"], 1), ([], 1)])
def test_a_bench_of_fewer_missions_writes_nothing(
    options: list[str], written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without flights: certificates that are made up."""
    spec, wrote = generate("hold-v0", 0, 1), list[str]()

    def cases(pool: ProcessPoolExecutor, missions: int) -> list[Case]:
        return [Case(label, slot, spec) for label in LABELS for slot in range(missions)]

    def fly_all(pool: object, task: object, todo: list[Case], what: str) -> list[Certificate]:
        return [told("accepted") for _ in todo]

    def write(name: str, command: str, seeds: str, numbers: dict[str, Any]) -> str:
        wrote.append(name)
        return name

    monkeypatch.setattr(sys, "argv", ["certificate", *options])
    monkeypatch.setattr(certificate, "cases", cases)
    monkeypatch.setattr(certificate, "fly_all", fly_all)
    monkeypatch.setattr(figures, "write", write)
    certificate.main()
    assert wrote == ["certificate.json"] * written


def test_a_bench_of_no_missions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["certificate", "--missions", "0"])
    with pytest.raises(SystemExit):
        certificate.main()
