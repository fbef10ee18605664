"""README and pages are what figures, modules and simulator say, and the level study counts right."""

from types import ModuleType

import pytest

from orbital_ops_env.client.render import PolicyView, parse
from orbital_ops_env.missions.catalog import FAMILIES
from orbital_ops_env.studies import figures, reward_page, tables
from orbital_ops_env.studies.levels import Job, figure, rates, shortlist


def test_the_readme_shows_the_committed_figures() -> None:
    assert tables.readme() == tables.README.read_text()


def test_the_training_page_shows_the_values_of_the_code() -> None:
    assert tables.training() == tables.TRAINING.read_text()


def test_the_page_of_the_curriculum_shows_the_committed_figures() -> None:
    assert tables.eva() == tables.EVA.read_text()


def test_the_missions_page_shows_the_modules() -> None:
    assert tables.missions() == tables.MISSIONS.read_text()


def test_the_reward_pages_show_the_docstrings_and_the_audit() -> None:
    assert reward_page.card_page() == reward_page.CARD.read_text()
    assert reward_page.audit_page(figures.read("reward_audit.json")) == reward_page.AUDIT.read_text()


def turns(block: str) -> list[PolicyView]:
    """What a policy has seen in an example, turn by turn."""
    texts: list[list[str]] = [[]]
    for line in block.strip().removeprefix("```").removesuffix("```").strip().splitlines():
        if line.startswith("> "):
            texts.append([])
        else:
            texts[-1].append(line)
    seen: list[PolicyView] = []
    for text in texts:
        seen.append(parse("\n".join(text), seen[-1] if seen else None))
    return seen


def test_the_example_is_a_flight_of_today() -> None:
    """Without its digits, which another machine may round otherwise; the brief is compared with them."""
    committed = tables.README.read_text().split("<!-- example -->")[1].split("<!-- /example -->")[0]
    shown, flown = turns(committed), turns(tables.example())
    assert len(shown) == len(flown)
    for a, b in zip(shown, flown, strict=True):
        assert a.brief == b.brief
        for channel in ("reason", "detail", "directive", "turns_left", "surplus_axis", "branch", "source"):
            assert getattr(a.telemetry, channel) == getattr(b.telemetry, channel)


def sections(**changed: str | None) -> str:
    """A family's page with sections changed, added or, where None, left out."""
    texts = {name: f"{name} of it." for name in tables.SECTIONS} | {
        name.replace("_", " "): text for name, text in changed.items()
    }
    return "".join(f"\n{name}: {text}" for name, text in texts.items() if text is not None)


def family(head: str, body: str) -> ModuleType:
    return ModuleType("missions.tumble", f"{head}\n{body}\n")


def test_a_page_is_read_section_by_section() -> None:
    page = tables.page(family("Tumble: turn, and do not stop.", sections(Faults="none,\n    not one.")))
    assert page.task == "turn, and do not stop"
    assert page.sections["Faults"] == "none, not one."
    assert tuple(page.sections) == tables.SECTIONS


@pytest.mark.parametrize(
    ("head", "body", "found"),
    [
        ("Tumble: turn.", sections(Faults=None), "expected .*'Faults'"),
        ("Tumble: turn.", sections(Hints="none."), "'Hints'.*, expected"),
        ("Tumble: turn.", sections() + "\nFaults: again.", "'Faults'\\], expected"),
        (
            "Tumble: turn.",
            sections() + "\nA line that belongs nowhere",
            "'A line that belongs nowhere' is neither",
        ),
        ("Tumble", sections(), "expected 'Name: task.'"),
        ("", "", "expected 'Name: task.'"),
    ],
)
def test_a_page_that_is_not_one_is_refused(head: str, body: str, found: str) -> None:
    with pytest.raises(ValueError, match=rf"missions\.tumble: .*{found}"):
        tables.page(family(head, body))


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_ten_levels_on_its_page(name: str) -> None:
    page = tables.missions().split(f"## `{name}`")[1].split("\n## ")[0]
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert [row.split(" | ")[0] for row in rows[2:]] == [f"| {level}" for level in range(10)]
    assert len({row.count("|") for row in rows}) == 1


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
