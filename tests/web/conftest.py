"""A server with the web page on, as a visitor's browser and a script see it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client

START_LIMIT_S = 240.0
"""[s] the first start on a machine compiles the onboard software."""


@pytest.fixture(scope="session")
def page_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a server of its own: everyone on the page shares one spacecraft."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("web") / "server.log"
    settings = {"HOST": "127.0.0.1", "PORT": str(port), "ENABLE_WEB_INTERFACE": "true"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "orbital_ops_env.server.app"],
            env=os.environ | settings,
            stdout=output,
            stderr=output,
        )
        try:
            yield _healthy(f"http://127.0.0.1:{port}", process, log)
        finally:
            process.kill()  # on SIGTERM it waits for the pages' open streams
            process.wait()


def _healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(f"{url}/health", timeout=5).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.1)
        else:
            return url
    raise RuntimeError(f"the server at {url} did not start:\n{log.read_text()}")


@pytest.fixture
def routes(page_url: str) -> Iterator[httpx.Client]:
    """The JSON routes under /web, on a new connection each: the server drops it after a 500."""
    fresh = httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(base_url=f"{page_url}/web", timeout=120, limits=fresh) as client:
        yield client


class Visitor:
    """Presses the page's buttons as a browser does, and keeps what the page then shows."""

    def __init__(self, url: str) -> None:
        self._page = Client(f"{url}/web/", verbose=False)
        self.html = ""
        self.labels: list[str] = []

    def leave(self) -> None:
        self._page.close()

    def reset(self) -> None:
        self._show(*self._page.predict(api_name="/reset_env"))

    def click(self, start: str) -> str:
        """Click the first ready-made command whose label begins so; returns the label."""
        choice = next(n for n, label in enumerate(self.labels) if label.startswith(start))
        label = self.labels[choice]
        self._show(*self._page.predict(str(choice), api_name="/quick_step"))
        return label

    def type(self, command: str) -> str:
        """Send a command from the box; returns what the page says of it."""
        visual, quick, result, *_ = self._page.predict(command, api_name="/step_fn")
        self._show(visual, quick)
        return str(result)

    def _show(self, visual: dict[str, Any], quick: dict[str, Any], *_: object) -> None:
        if "value" in visual:
            self.html = visual["value"]
            self.labels = [label for label, _ in quick["choices"]]


@pytest.fixture
def visitor(page_url: str) -> Iterator[Visitor]:
    """A visitor in front of a freshly opened page."""
    visitor = Visitor(page_url)
    yield visitor
    visitor.leave()
