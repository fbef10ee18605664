"""Code in README and guide, as it is printed, against a real server."""

import re
from itertools import cycle
from pathlib import Path

import pytest

from orbital_ops_env.client import Runs

ROOT = Path(__file__).resolve().parents[2]
REPLIES = ('{"command": "coast", "duration_s": 30}', "Let me think.", '{"command": "end_mission"}')


def printed(page: str, name: str, changed: dict[str, str], url: str) -> str:
    """The example of a page that imports a name, with other text in it."""
    (code,) = re.findall(rf"```python\n(from [^`]*\b{name}\b[^`]*)```", (ROOT / page).read_text())
    for whole, part in (changed | {"http://localhost:8000": url}).items():
        assert whole in code
        code = code.replace(whole, part)
    return code


def test_the_printed_loop_scores_a_model_on_tasks(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = printed("CONTRIBUTING.md", "SYSTEM_PROMPT", {'env.tasks.num_tasks("test")': "2"}, url)
    heard, replies = list[list[dict[str, str]]](), cycle(REPLIES)

    def my_model(talk: list[dict[str, str]]) -> str:
        heard.append(list(talk))
        return next(replies)

    exec(code, {"my_model": my_model})
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["0", "ended"],
        ["1", "ended"],
    ]
    assert [talk[-1]["role"] for talk in heard] == ["user"] * 6
    assert heard[2][0]["role"] == "system"
    assert "refused (only one JSON object" in heard[2][-1]["content"]


def test_the_printed_loop_flies_a_slot_of_a_curriculum(
    url: str, runs: Runs, curriculum_token: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = printed("README.md", "Runs", {'"secret"': repr(curriculum_token), '"first"': '"printed"'}, url)
    exec(code, {})
    assert capsys.readouterr().out == "() []\n"
    assert runs.status("printed").slots == 1
