"""A server of one's own in another process and another environment, and patience with a sleeping Space."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
START_LIMIT_S: Final = 300.0
"""[s] for a server to answer; its first start on a machine compiles the flight software."""
POLL_S: Final = 0.5
ANSWER_S: Final = 10.0
"""[s] for one answer."""
HEALTHY: Final = {"status": "healthy"}
LOG_TAIL: Final = 30
"""[-] lines of the server's log shown when it dies."""


class ServerError(RuntimeError):
    """A server did not come up or has died; the message holds the end of its log."""


@contextmanager
def local_server(python: str = sys.executable, **environment: str) -> Generator[str]:
    """The real server in a process of its own; gives its address.

    Args:
        python: Interpreter of an environment that has the extra `server`.
        **environment: Variables for it, as `MAX_CONCURRENT_ENVS`.

    Raises:
        ServerError: It died or did not answer in time.
    """
    with socket.create_server((HOST, 0)) as listener:
        port = int(listener.getsockname()[1])
    inherited = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}  # a notebook's
    chosen = inherited | {"HOST": HOST, "PORT": str(port)} | environment
    command = [python, "-m", "orbital_ops_env.server.app"]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, env=chosen, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until_healthy(f"http://{HOST}:{port}", alive=lambda: process.poll() is None)
            yield f"http://{HOST}:{port}"
        except Exception as error:
            if process.poll() is None and not isinstance(error, ServerError):
                raise  # no fault of the server
            log.seek(0)
            raise ServerError(f"{error}\nThe end of the server's log:\n{_tail(log.readlines())}") from error
        finally:
            process.terminate()
            process.wait()


@contextmanager
def server(url: str | None, python: str, **environment: str) -> Generator[str]:
    """The server at an address, once it answers; without an address, one of its own as `local_server`'s."""
    if url:
        wait_until_healthy(url)
        yield url
    else:
        with local_server(python, **environment) as own:
            yield own


def server_environment(folder: Path, source: str) -> str:
    """Make an environment for a server, beside that of the trainer, which wants other versions.

    Without a pip of its own, since some notebook machines lack what `venv` needs for one.

    Args:
        folder: Where; what is there is kept, so that a second call is quick.
        source: Where pip finds the project: `git+https://...` or `file:///...`.

    Returns:
        Its interpreter, for `local_server`.

    Raises:
        ServerError: pip failed; the message holds the end of what it said.
    """
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    project = f"openenv-orbital-ops-env[server] @ {source}"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", project]
    done = subprocess.run(pip, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise ServerError(f"pip could not install {project}:\n{_tail(done.stdout.splitlines(keepends=True))}")
    return str(python)


def wait_until_healthy(
    url: str, limit_s: float = START_LIMIT_S, alive: Callable[[], bool] = lambda: True
) -> None:
    """Wait for a server that starts, or for a Space that wakes up.

    Args:
        url: Address of the server or Space.
        limit_s: [s] until patience ends.
        alive: Whether waiting still makes sense.

    Raises:
        ServerError: No answer; the message says the last reason.
    """
    until = time.monotonic() + limit_s
    reason = "nothing was tried"
    while alive() and time.monotonic() < until:
        try:
            with _opener(url).open(f"{url}/health", timeout=ANSWER_S) as answer:
                if json.load(answer) == HEALTHY:
                    return
            reason = "something else than an OrbitalOps server answers"
        except (OSError, ValueError) as error:
            reason = str(error)
        time.sleep(POLL_S)
    if alive():
        raise ServerError(f"{url} gave no answer at /health for {limit_s:.0f} s: {reason}")
    raise ServerError(f"the server at {url} died as it started")


def _tail(lines: list[str]) -> str:
    return "".join(lines[-LOG_TAIL:])


def _opener(url: str) -> urllib.request.OpenerDirector:
    """Proxies are for other machines."""
    local = HOST in url or "localhost" in url
    return urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if local else []))
