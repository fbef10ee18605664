"""Published figures: JSON under `plots/data/`, each with its command, commit, versions and seeds."""

import json
import os
import subprocess
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "plots" / "data"
PACKAGES = ("bsk", "numba", "numpy", "openenv", "peft", "pydantic", "torch", "transformers", "trl", "unsloth")
"""Distributions whose versions are told, where they are installed."""


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
        "commit": commit(),
        "versions": versions(),
        "seeds": seeds,
    }
    DATA.mkdir(parents=True, exist_ok=True)
    path = DATA / name
    path.write_text(json.dumps(head | figures, indent=1) + "\n")
    return path


def read(name: str) -> dict[str, Any]:
    """A committed figure file."""
    return json.loads((DATA / name).read_text())


def versions() -> dict[str, str]:
    """Of `PACKAGES`, those installed."""
    found = {package: list(distributions(name=package)) for package in PACKAGES}
    return {package: installed[0].version for package, installed in found.items() if installed}


def commit() -> str:
    """The commit, marked if more than figures and pages differ; or `GIT_COMMIT`, for a copy of the tree."""
    if told := os.environ.get("GIT_COMMIT"):
        return told
    changed = _git(
        "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)plots", ":(exclude)*.md"
    )
    return _git("rev-parse", "--short=12", "HEAD") + ("-dirty" if changed else "")


def _git(*words: str) -> str:
    told = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return told.stdout.strip()
