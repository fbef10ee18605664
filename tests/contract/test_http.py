"""The stateless HTTP routes and the server's command line."""

import json
import subprocess
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest


def post(url: str, body: dict[str, object]) -> dict[str, object]:
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_a_reset_over_http_gives_the_brief(url: str) -> None:
    answer = post(f"{url}/reset", {"family": "retarget-v0", "level": 3, "seed": 17})
    observation = answer["observation"]
    assert isinstance(observation, dict)
    assert observation["brief"]["family"] == "retarget-v0"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levle": 3}, "no reset option 'levle', did you mean level? Known: family, level, seed"),
        ({"level": 12}, "reset option level: Input should be less than or equal to 9."),
        ({"family": "retarget-v1"}, "did you mean retarget-v0? Expected one of"),
    ],
)
def test_a_reset_option_that_cannot_be_taken_is_a_clear_422(
    url: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(HTTPError) as refused:
        post(f"{url}/reset", options)
    assert refused.value.code == 422
    assert message in json.load(refused.value)["detail"]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [(["--help"], 0, "--port"), (["--prot", "1"], 2, "unrecognized arguments: --prot 1")],
)
def test_the_command_line_explains_itself(arguments: list[str], status: int, words: str) -> None:
    command = [sys.executable, "-m", "orbital_ops_env.server.app", *arguments]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert said.returncode == status
    assert words in said.stdout + said.stderr
