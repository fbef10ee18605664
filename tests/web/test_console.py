"""What the console says and offers, over whole flights of different policies."""

import gc
import re
from collections.abc import Callable, Iterator
from html import escape, unescape
from html.parser import HTMLParser
from typing import Any

import pytest

from orbital_ops_env.client.render import PolicyView, render, view
from orbital_ops_env.commands import Check, Coast, Detumble, Slew
from orbital_ops_env.missions.catalog import FAMILIES, generate
from orbital_ops_env.models import OrbitalOpsAction, OrbitalOpsObservation
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.server import console
from orbital_ops_env.server.environment import OrbitalOpsEnvironment
from orbital_ops_env.server.episode import Episode

VOID = {"br", "img", "hr", "input", "meta", "link"}
Moment = tuple[Episode, OrbitalOpsObservation]


def as_served(observation: OrbitalOpsObservation) -> dict[str, Any]:
    """What the framework hands to `render_web` and `web_actions`."""
    return observation.model_dump()


def flown(family: str, level: int, seed: int = 1) -> Iterator[Moment]:
    """An episode under the reference policy, moment by moment."""
    episode = Episode(generate(family, level, seed), episode_seed=seed)
    policy = Reference()
    policy.begin(seed)
    seen = view(episode.observation)
    yield episode, episode.observation
    while episode.outcome == "ongoing":
        observation = episode.step(policy.act(seen))
        seen = view(observation, seen)
        yield episode, observation


@pytest.fixture(params=[(family, level) for family in FAMILIES for level in (0, 5, 9)], ids=str)
def flight(request: pytest.FixtureRequest) -> Iterator[Moment]:
    return flown(*request.param)


def test_text_is_to_the_letter_what_a_policy_reads(flight: Iterator[Moment]) -> None:
    previous: PolicyView | None = None
    for episode, observation in flight:
        html = page(episode, observation)
        text = render(observation, previous)
        assert f"<h3>What a policy reads</h3><pre>{escape(text)}</pre>" in html
        assert page(episode, observation) == html
        previous = view(observation, previous)


def test_every_offer_is_a_valid_action_with_a_label_of_its_own(flight: Iterator[Moment]) -> None:
    for episode, observation in flight:
        offers = console.buttons(episode, as_served(observation))
        assert (offers == []) == observation.done
        for label, action in offers:
            assert label
            assert OrbitalOpsAction.model_validate(action)
        assert len({label for label, _ in offers}) == len(offers)


def test_markup_is_closed_and_loads_nothing(flight: Iterator[Moment]) -> None:
    for episode, observation in flight:
        html = page(episode, observation)
        check = Balance()
        check.feed(html)
        assert check.open == []
        assert not re.search(r"<script|<link|<img|@import|url\(|https?:|\son\w+=", html)


def test_score_is_shown_after_the_end_only_and_never_in_the_text(flight: Iterator[Moment]) -> None:
    for episode, observation in flight:
        html = page(episode, observation)
        assert ("efficiency × 0.15" in html) == observation.done
        assert f"{observation.components['reward/overall']:.2f} of 1" in html or not observation.done
        texts = " ".join(re.findall(r"<pre>(.*?)</pre>", html, re.S))
        assert "reward" not in texts
        assert "return" not in texts


def test_mission_card_states_every_directive_and_rule() -> None:
    episode, observation = next(flown("retarget-v0", 9))
    html = unescape(page(episode, observation))
    assert observation.brief is not None
    for directive in observation.brief.directives:
        assert f"payload on {directive.target} within {directive.tolerance_deg:g} deg" in html
        assert f"{directive.closes_s:g} s" in html
    for words in ("deg from the Sun (hard)", "g of gas left (hard)", "deg/s (soft)"):
        assert words in html


def test_a_turn_the_page_did_not_see_is_shown_with_all_channels() -> None:
    episode = Episode(generate("detumble-v0", 0, 0), episode_seed=0)
    page(episode, episode.observation)
    episode.step(Coast(duration_s=30))
    html = page(episode, episode.step(Check(subsystem="gyro")))
    assert "<pre>MISSION detumble-v0" in html
    assert "check w_x=" in html


def test_moment_decides_what_is_offered_first() -> None:
    first = [commands(moment)[0] for moment in flown("detumble-v0", 4)]
    assert first[0]["command"] == "detumble"
    assert "slew" in {command["command"] for command in first}
    kinds = {command["command"] for moment in flown("hold-v0", 4) for command in commands(moment)}
    assert kinds >= {"slew", "hold", "coast", "check", "safe_mode", "select_branch", "end_mission"}


def test_first_hold_offered_serves_the_dwell() -> None:
    for episode, observation in flown("retarget-v0", 5):
        offer = next((c for c in commands((episode, observation)) if c["command"] == "hold"), None)
        if offer:
            done = episode.step(OrbitalOpsAction.model_validate({"command": offer}).command)
            assert done.telemetry.directive == observation.telemetry.directive + 1
            return
    pytest.fail("the flight offered no hold")


@pytest.mark.parametrize(("rate", "level"), [(0.2, 4), (0.5, 0), (1.0, 0)])
def test_price_of_a_slew_is_about_what_it_takes(rate: float, level: int) -> None:
    episode, before, slew, label = first_slew(rate, lambda label: "(" not in label, level)
    after = episode.step(slew)
    seconds, grams = price(label)
    assert after.telemetry.time_s == pytest.approx(seconds, abs=40)
    assert burnt(before, after) == pytest.approx(grams, abs=0.8)


def test_price_of_a_detumble_is_about_what_it_takes() -> None:
    episode, before = next(flown("detumble-v0", 2))
    seconds, grams = price(label_of(episode, before, Detumble(rate_deg_s=0.1)))
    after = episode.step(Detumble(rate_deg_s=0.1))
    assert after.telemetry.time_s == pytest.approx(seconds, rel=0.25, abs=10)
    assert burnt(before, after) == pytest.approx(grams, rel=0.15)


def test_a_slew_called_too_late_fails_the_mission() -> None:
    episode, _, slew, _ = first_slew(0.2, lambda label: "too late" in label)
    while episode.outcome == "ongoing":
        episode.step(slew)
    assert episode.outcome == "failed"


def test_a_slew_called_over_the_rate_cap_breaks_it() -> None:
    episode, _, slew, _ = first_slew(2.0, lambda label: "rate cap" in label, level=4)
    assert episode.step(slew).components["reward/safety"] == 0


def first_slew(
    rate: float, wanted: Callable[[str], bool], level: int = 0
) -> tuple[Episode, OrbitalOpsObservation, Slew, str]:
    """A mission at its start, and the slew to its first target, whose label is as wanted."""
    for seed in range(20):
        episode, observation = next(flown("retarget-v0", level, seed))
        slew = Slew(target=first_target(observation), rate_deg_s=rate)
        label = label_of(episode, observation, slew)
        if wanted(label):
            return episode, observation, slew, label
    raise AssertionError("no mission of that kind")


def price(label: str) -> tuple[float, float]:
    """Seconds and grams that a label promises."""
    ((seconds, grams),) = re.findall(r"(\d+) s, ([\d.]+) g", label)
    return float(seconds), float(grams)


def burnt(before: OrbitalOpsObservation, after: OrbitalOpsObservation) -> float:
    return before.telemetry.propellant_g - after.telemetry.propellant_g


def first_target(observation: OrbitalOpsObservation) -> str:
    assert observation.brief is not None
    return observation.brief.directives[0].target or ""


def test_no_episode_shows_and_offers_nothing() -> None:
    environment = OrbitalOpsEnvironment()
    assert environment.render_web({}) is None
    assert environment.web_actions({}) == []


def test_episodes_are_forgotten_with_their_environment() -> None:
    gc.collect()
    before = len(console._LOGS)
    environment = OrbitalOpsEnvironment()
    for seed in range(3):
        environment.render_web(as_served(environment.reset(seed=seed)))
    environment.close()
    gc.collect()
    assert len(console._LOGS) == before


def page(episode: Episode, observation: OrbitalOpsObservation) -> str:
    return console.page(episode, as_served(observation))


def commands(moment: Moment) -> list[dict[str, Any]]:
    episode, observation = moment
    offers = console.buttons(episode, as_served(observation))
    return [action["command"] for _, action in offers] or [{"command": ""}]


def label_of(episode: Episode, observation: OrbitalOpsObservation, command: Slew | Detumble) -> str:
    offers = console.buttons(episode, as_served(observation))
    return next(label for label, action in offers if action["command"] == command.model_dump())


class Balance(HTMLParser):
    """Follows open tags."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
