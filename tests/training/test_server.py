"""A server of one's own, and patience with one that does not answer."""

import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orbital_ops_env.training import server
from orbital_ops_env.training.server import (
    ServerError,
    local_server,
    server_environment,
    wait_until_healthy,
)


class Page(http.server.BaseHTTPRequestHandler):
    """Answers every request with a page, as a Space does while it wakes up."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>Your Space is starting</html>")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def page_url() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as pages:
        thread = threading.Thread(target=pages.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{pages.server_address[1]}"
        pages.shutdown()
        thread.join()


def test_a_wrong_address_is_an_error_that_names_it_and_the_reason() -> None:
    with pytest.raises(ServerError, match=r"127\.0\.0\.1:9 gave no answer .* 1 s: .*refused"):
        wait_until_healthy("http://127.0.0.1:9", limit_s=1)


def test_a_page_is_not_the_answer_of_a_server(page_url: str) -> None:
    with pytest.raises(ServerError, match="gave no answer at /health"):
        wait_until_healthy(page_url, limit_s=1)


def test_a_server_that_answers_is_healthy(url: str) -> None:
    wait_until_healthy(url, limit_s=5)


def test_a_server_that_dies_says_why() -> None:
    with pytest.raises(ServerError, match=r"died as it started(.|\n)*PORT"), local_server(PORT="nowhere"):
        pytest.fail("it started")


def test_an_environment_that_pip_cannot_fill_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="pip could not install openenv-orbital-ops-env"):
        server_environment(tmp_path / "env", (tmp_path / "nothing-here").as_uri())


def test_the_plotting_backend_of_a_notebook_stays_with_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, str] = {}

    class Refused(Exception):
        pass

    def refuse(command: list[str], *, env: dict[str, str], **_: object) -> None:
        given.update(env)
        raise Refused

    monkeypatch.setitem(os.environ, "MPLBACKEND", "module://matplotlib_inline.backend_inline")
    monkeypatch.setattr(server.subprocess, "Popen", refuse)
    with pytest.raises(Refused), local_server():
        pytest.fail("it started")
    assert "PORT" in given
    assert "MPLBACKEND" not in given


def test_a_server_that_runs_already_is_used_and_nothing_is_started(url: str) -> None:
    with server.server(url, "no-such-interpreter") as found:
        assert found == url
