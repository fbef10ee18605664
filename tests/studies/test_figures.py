"""The head of a published figure."""

import subprocess
from pathlib import Path

import pytest

from orbital_ops_env.studies import figures


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed repository with a source file, a figure and a page."""
    (tmp_path / "plots" / "data").mkdir(parents=True)
    (tmp_path / "plots" / "data" / "one.json").write_text("{}")
    (tmp_path / "source.py").write_text("")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Begin")):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.delenv("GIT_COMMIT", raising=False)
    return tmp_path


def test_a_figure_made_after_another_is_of_the_same_commit(repository: Path) -> None:
    (repository / "plots" / "data" / "one.json").write_text('{"a": 1}')
    (repository / "docs" / "page.md").write_text("a table of it")
    (repository / "notes.txt").write_text("untracked")
    assert len(figures.commit()) == 12
    (repository / "source.py").write_text("changed = True")
    assert figures.commit().endswith("-dirty")
