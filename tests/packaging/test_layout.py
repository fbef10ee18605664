"""The repository's root is the package, and installs as one."""

import ast
import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from openenv.auto import AutoAction, AutoEnv

import orbital_ops_env

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_package_is_listed_and_every_listed_package_exists(project) -> None:
    folders = [init.parent.relative_to(ROOT) for init in ROOT.glob("[a-z]*/**/__init__.py")]
    found = {".".join(("orbital_ops_env", *folder.parts)) for folder in folders}
    assert set(project["tool"]["setuptools"]["packages"]) == found | {"orbital_ops_env"}


def test_every_file_that_ships_as_data_exists(project) -> None:
    for package, names in project["tool"]["setuptools"]["package-data"].items():
        folder = ROOT.joinpath(*package.split(".")[1:])
        for name in names:
            assert list(folder.glob(name)), name


def test_tests_are_no_package() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


def loaded(module: str) -> set[str]:
    """What importing a module loads, in a process of its own."""
    script = f"import sys, {module}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd="/")
    return set(run.stdout.split())


def test_the_root_module_loads_nothing_until_a_name_is_asked_for() -> None:
    assert not {m for m in loaded("orbital_ops_env") if m.startswith(("openenv", "orbital_ops_env."))}
    assert "openenv" in loaded("orbital_ops_env; orbital_ops_env.OrbitalOpsEnv")
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        orbital_ops_env.Nothing  # noqa: B018


AGENT_SIDE = {"client", "commands", "models", "policies"}


def test_the_agents_side_loads_nothing_of_the_worlds_side() -> None:
    policies = [f"orbital_ops_env.policies.{path.stem}" for path in ROOT.glob("policies/[a-z]*.py")]
    modules = loaded(", ".join(["orbital_ops_env.client", *policies]))
    assert {m.split(".")[1] for m in modules if m.startswith("orbital_ops_env.")} == AGENT_SIDE
    assert not {"Basilisk", "numba"} & modules


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("orbital_ops_env", {"Basilisk", "numba", "openenv", "numpy", "pydantic"}),
        ("orbital_ops_env.commands", {"Basilisk", "numba", "openenv", "numpy"}),
        ("orbital_ops_env.missions.catalog", {"Basilisk", "openenv"}),
    ],
)
def test_a_module_loads_no_more_than_it_must(module: str, absent: set[str]) -> None:
    assert not absent & loaded(module)


def test_the_client_package_wins_over_the_file_beside_it() -> None:
    found = importlib.util.find_spec("orbital_ops_env.client")
    assert found is not None
    assert Path(str(found.origin)).resolve() == ROOT / "client" / "__init__.py"


def test_the_file_beside_it_shows_the_client_to_those_who_parse_it() -> None:
    classes = [
        node for node in ast.parse((ROOT / "client.py").read_text()).body if isinstance(node, ast.ClassDef)
    ]
    (client,) = classes
    assert client.name == "OrbitalOpsEnv"
    assert "EnvClient" in [base.id for base in client.bases if isinstance(base, ast.Name)]


def test_openenv_discovers_the_client_and_the_action() -> None:
    from orbital_ops_env.client import OrbitalOpsAction, OrbitalOpsEnv

    assert AutoEnv.get_env_class("orbital_ops") is OrbitalOpsEnv
    assert AutoAction.from_env("orbital_ops") is OrbitalOpsAction
