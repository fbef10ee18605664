"""The README's tables are made from committed figures, and the level study counts right."""

import pytest

from orbital_ops_env.studies import figures, tables
from orbital_ops_env.studies.levels import Job, figure, rates, shortlist


def test_the_readme_shows_the_committed_figures() -> None:
    assert tables.readme() == tables.README.read_text()


def test_the_training_page_shows_the_values_of_the_code() -> None:
    assert tables.training() == tables.TRAINING.read_text()


def test_a_text_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="expected the markers"):
        tables.embed("no markers", "levels", "| a |")


@pytest.mark.parametrize("name", ["levels.json", "bench.json", "gate.json"])
def test_every_figure_says_how_it_was_made(name: str) -> None:
    data = figures.read(name)
    assert data["command"].startswith("make ")
    assert data["commit"]
    assert data["seeds"]
    assert data["versions"]["bsk"] == "2.12.1"


def test_success_rates_are_counted_by_cell() -> None:
    flown = {Job("f", 4, "rules", seed): seed == 1 for seed in range(4)}
    assert rates(flown) == {Job("f", 4, "rules", 0): 0.25}


def test_the_best_script_is_taken_from_the_shortlist() -> None:
    looked = {
        Job("f", 4, "script", 20_000 + seed, number): number == 5 for seed in range(8) for number in range(20)
    }
    assert ("f", 4, 5) in shortlist(looked)
    full = looked | {Job("f", 4, "script", 20_100 + seed, 5): False for seed in range(8)}
    cells = figure({Job("f", 4, "rules", 20_000): True}, full)
    assert cells["f"]["4"] == {"rules": {"success": 1.0}, "best_script": {"success": 0.5}}
