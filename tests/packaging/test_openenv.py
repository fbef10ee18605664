"""OpenEnv's own tools accept the environment."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from openenv.cli.__main__ import app
from openenv.cli.commands import push
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
WANTED = (
    "openenv.yaml",
    "__init__.py",
    "client.py",
    "README.md",
    "pyproject.toml",
    "Dockerfile",
)
"""What `openenv push` asks for, in the order in which it asks."""


@pytest.fixture(scope="module")
def openenv() -> Callable[..., Any]:
    """Runs the command line tool in this process."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_validate_passes_on_the_package(openenv) -> None:
    result = openenv("validate", ROOT, "--level", "static", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["verdict"].lower() == "pass"


def test_validate_passes_on_the_running_server(openenv, url: str) -> None:
    result = openenv("validate", "--url", url, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["passed"]
    assert all(criterion["passed"] for criterion in report["criteria"])
    assert len(report["criteria"]) == 6


class Hub:
    """Stands for the Hub's interface, and keeps what was uploaded."""

    def __init__(self) -> None:
        self.uploaded: set[str] = set()
        self.texts: dict[str, str] = {}

    def create_repo(self, **options: Any) -> None:
        assert options["space_sdk"] == "docker"

    def upload_folder(self, *, folder_path: str, **options: Any) -> None:
        folder = Path(folder_path)
        files = [path for path in folder.rglob("*") if path.is_file()]
        self.uploaded = {path.relative_to(folder).as_posix() for path in files}
        self.texts = {name: (folder / name).read_text() for name in WANTED}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub()
    monkeypatch.setattr(push, "HfApi", lambda: hub)
    monkeypatch.setattr(push, "whoami", lambda: {"name": "someone"})
    return hub


def test_push_finds_every_file_it_wants(openenv, hub: Hub) -> None:
    result = openenv("push", ROOT)
    assert result.exit_code == 0, result.output
    assert "someone/orbital_ops_env" in result.output
    assert hub.uploaded >= {*WANTED, "server/app.py", "client/env.py", "requirements/server.txt"}
    assert not {name for name in hub.uploaded if name.startswith(".") or "__pycache__" in name}
    for name in ("Dockerfile", "README.md"):
        assert hub.texts[name] == (ROOT / name).read_text(), f"push had to rewrite {name}"


def test_what_the_image_copies_by_name_is_uploaded(openenv, hub: Hub) -> None:
    openenv("push", ROOT)
    for line in hub.texts["Dockerfile"].splitlines():
        if line.startswith("COPY ") and not line.startswith("COPY . "):
            *sources, _ = line.split()[1:]
            assert set(sources) <= hub.uploaded


def test_the_space_opens_the_console() -> None:
    _, front, _ = (ROOT / "README.md").read_text().split("---\n", 2)
    space = yaml.safe_load(front)
    assert space["sdk"] == "docker"
    assert space["app_port"] == 8000
    assert space["base_path"] == "/web"
