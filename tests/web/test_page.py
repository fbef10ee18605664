"""The page as served: its routes, what a visitor sees, and a mission played by clicks."""

import re
from html import unescape

import httpx

PLAN = ("Detumble to 0.1", "Slew to DENEB", "Hold DENEB", "Hold DENEB")
"""Clicks that fly the mission behind the Reset button."""


def test_page_and_metadata_are_served(page_url: str, routes: httpx.Client) -> None:
    assert httpx.get(page_url, follow_redirects=True).url.path == "/web/"
    assert "gradio" in routes.get("/").text
    assert routes.get("/metadata").json()["name"] == "orbital_ops_env"


def test_routes_reset_step_and_tell_the_state(routes: httpx.Client) -> None:
    options = {"family": "retarget-v0", "level": 4, "seed": 7}
    start = routes.post("/reset", json=options).json()
    assert start["observation"]["brief"]["family"] == "retarget-v0"
    assert routes.get("/state").json().items() >= options.items()
    command = {"command": "coast", "duration_s": 30.0}
    after = routes.post("/step", json={"action": {"command": command}}).json()
    assert after["observation"]["telemetry"]["time_s"] == 30.0
    assert after["observation"]["brief"] is None
    assert routes.get("/state").json()["step_count"] == 1


def test_an_invalid_command_is_an_error_and_costs_nothing(routes: httpx.Client) -> None:
    routes.post("/reset")
    bad = {"action": {"command": {"command": "coast", "duration_s": 31}}}
    assert routes.post("/step", json=bad).status_code == httpx.codes.INTERNAL_SERVER_ERROR
    assert routes.get("/state").json()["step_count"] == 0
    good = {"action": {"command": {"command": "coast", "duration_s": 30.0}}}
    assert routes.post("/step", json=good).status_code == httpx.codes.OK


def test_a_mission_is_played_to_success_by_clicks(visitor) -> None:
    visitor.reset()
    assert "Mission detumble-v0, level 0, seed 0" in visitor.html
    assert "MISSION detumble-v0 level 0" in policy_text(visitor.html)
    for start in PLAN:
        if not visitor.labels:
            break
        choice = min((label for label in visitor.labels if label.startswith(start)), key=warnings)
        visitor.click(choice)
    assert "Episode succeeded, return 0." in visitor.html
    assert "press Reset to fly again" in visitor.html
    assert visitor.labels == []


def test_giving_up_shows_the_score_and_ends_the_commands(visitor) -> None:
    visitor.reset()
    assert "Episode ended" not in visitor.html
    visitor.click("End the mission")
    assert "Episode ended, return 0." in visitor.html
    assert "efficiency × 0.15" in visitor.html
    assert visitor.labels == []
    assert "EpisodeOver" in visitor.type('{"command":"coast","duration_s":30}')


def test_the_box_takes_any_command_and_names_a_mistake(visitor) -> None:
    visitor.reset()
    assert "expected one of 30|60" in visitor.type('{"command":"coast","duration_s":31}')
    visitor.type('{"command":"fire","axis":"+x","on_time_s":0.1}')
    assert "7 of 8" in visitor.html


def test_a_refusal_is_explained_and_escaped(visitor) -> None:
    visitor.reset()
    visitor.type('{"command":"unreadable","text":"{\\"command\\":\\"coast\\",\\"<img src=x>\\":1}"}')
    assert "refused: duration_s: Field required." in visitor.html
    assert "<img" not in visitor.html


def policy_text(html: str) -> str:
    """The text of the observation on the page."""
    texts = re.findall(r"What a policy reads</h3><pre>(.*?)</pre>", html, re.S)
    return unescape(texts[0])


def warnings(label: str) -> int:
    """Things that speak against a command, by its label."""
    return label.count("(") + label.count(", ", label.find("(")) if "(" in label else 0
