"""The guide's way to score a language model, as it is printed, against a real server."""

import re
from itertools import cycle
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
REPLIES = ('{"command": "coast", "duration_s": 30}', "Let me think.", '{"command": "end_mission"}')


def test_the_printed_loop_scores_a_model_on_tasks(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = re.search(r"```python\n(from [^`]*SYSTEM_PROMPT.*?)```", GUIDE.read_text(), re.DOTALL)
    assert printed
    code, heard, replies = printed[1], list[list[dict[str, str]]](), cycle(REPLIES)
    for whole, part in (("http://localhost:8000", url), ('env.tasks.num_tasks("test")', "2")):
        assert whole in code
        code = code.replace(whole, part)

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
