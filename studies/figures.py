"""Published figures: JSON under `plots/data/`, each with its command, commit, versions and seeds."""

import json
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "plots" / "data"
PACKAGES = ("bsk", "numba", "numpy", "openenv", "pydantic")


def write(name: str, command: str, seeds: str, figures: dict[str, Any]) -> Path:
    """Write a figure file.

    Args:
        name: File name under `plots/data/`.
        command: What makes it, as typed.
        seeds: Which seeds it used, in words.
        figures: Its keys and values.
    """
    head = {
        "command": command,
        "commit": _commit(),
        "versions": {package: version(package) for package in PACKAGES},
        "seeds": seeds,
    }
    DATA.mkdir(parents=True, exist_ok=True)
    path = DATA / name
    path.write_text(json.dumps(head | figures, indent=1) + "\n")
    return path


def read(name: str) -> dict[str, Any]:
    """A committed figure file."""
    return json.loads((DATA / name).read_text())


def _commit() -> str:
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.strip()
