"""The benches of the curriculum: learners that learn, intervals that are right, bars that hold, pictures."""

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from orbital_ops_env.curriculum import snapshot
from orbital_ops_env.curriculum.archive import Archive, Outcome, Run
from orbital_ops_env.curriculum.database import IN_MEMORY, Database
from orbital_ops_env.curriculum.engine import Engine
from orbital_ops_env.curriculum.presets import PRESETS
from orbital_ops_env.missions.catalog import SHORT_FAMILIES, generate
from orbital_ops_env.server.flight import fly
from orbital_ops_env.studies import curriculum, curriculum_plots, curriculum_real, figures, synthetic
from orbital_ops_env.studies.apprentice import BEGINNER, NAMES, Apprentice, Learner
from orbital_ops_env.studies.curriculum import QUANTILES, Job, interval
from orbital_ops_env.studies.synthetic import CONDITIONS, Condition, Mission, Synthetic

NAN = float("nan")

# -- the synthetic learner ---------------------------------------------------------------------


def test_a_mission_is_feasible_up_to_the_limits_of_two_skills_and_of_all() -> None:
    asked = np.array(
        [
            [7.5, 7.5, NAN, NAN, NAN, NAN],
            [7.6, 7.5, NAN, NAN, NAN, NAN],
            [6.5, 6.5, 6.5, 6.5, NAN, NAN],
            [6.6, 6.5, 6.5, 6.5, NAN, NAN],
        ]
    )
    assert synthetic.feasible(asked).tolist() == [True, False, True, False]


@given(st.integers(0, 2**32), st.booleans())
def test_an_edit_goes_one_way_and_keeps_the_bounds(seed: int, harder: bool) -> None:
    rng = np.random.default_rng(seed)
    space = Synthetic(rng, CONDITIONS["clean"], certified=False)
    mission = Mission(synthetic.drawn(rng, 0.0, synthetic.HARDEST))
    edited = space.edit(rng, mission, harder)
    assert edited
    before, after = np.array(mission.demands), np.array(edited.demands)
    assert synthetic.FEWEST <= np.count_nonzero(~np.isnan(after)) <= synthetic.MOST
    assert np.nanmin(after) >= 0
    assert np.nanmax(after) <= synthetic.HARDEST
    assert (np.nansum(after) >= np.nansum(before)) if harder else (np.nansum(after) <= np.nansum(before))


def test_practice_helps_at_its_difficulty_and_hardly_elsewhere() -> None:
    rng = np.random.default_rng(0)
    learner = synthetic.Learner(rng, Condition().slopes)
    asked = np.array([[1.0, NAN, NAN, NAN, NAN, NAN]])
    far = np.array([[8.0, NAN, NAN, NAN, NAN, NAN]])
    before, before_far = learner.success(asked), learner.success(far)
    for _ in range(50):
        passed, _, returns = synthetic.rollouts(rng, learner, [Mission(tuple(asked[0]))], 64, Condition())
        learner.learn(asked, passed, returns)
    assert learner.success(asked) > max(2 * before, 0.9)
    assert learner.success(far) - before_far < 0.1


def test_an_infeasible_mission_is_never_done_and_a_coin_flip_half_of_the_time() -> None:
    rng = np.random.default_rng(0)
    learner = synthetic.Learner(rng, Condition().slopes)
    learner._local += 100.0  # passes everything
    hopeless = Mission((9.0, 9.0, NAN, NAN, NAN, NAN))
    flip = Mission((9.0, 9.0, NAN, NAN, NAN, NAN), coin_flip=True)
    _, succeeded, returns = synthetic.rollouts(rng, learner, [hopeless, flip], 4000, Condition())
    assert succeeded[0].mean() == 0
    assert succeeded[1].mean() == pytest.approx(0.5, abs=0.03)
    assert returns[0] == pytest.approx(1 - synthetic.SUCCESS_REWARD)


def test_the_same_seed_gives_the_same_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curriculum, "ROLLOUTS", 4096)
    jobs = [Job("bad_certificate", preset, 3) for preset in curriculum.rows("bad_certificate")]
    jobs.append(Job("late", "eva", 3))
    assert list(map(curriculum.learnt, jobs)) == list(map(curriculum.learnt, jobs))


# -- figures -----------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_an_interval_is_students(values: list[float]) -> None:
    mean, (low, high) = interval(values)
    reach = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5
    assert mean == pytest.approx(np.mean(values))
    assert (low, high) == pytest.approx((max(mean - reach, 0), min(mean + reach, 1)), abs=1e-3)


def test_the_quantiles_are_students() -> None:
    for count, quantile in QUANTILES.items():
        assert quantile == pytest.approx(stats.t.ppf(0.975, count - 1), abs=5e-4)


def test_the_published_synthetic_learners_meet_their_bars() -> None:
    told = figures.read("curriculum_synthetic.json")
    assert told["clean"]["eva"]["final"] >= 0.90
    assert told["noise"]["eva"]["final"] >= 0.85
    assert told["bad_certificate"]["eva"]["final"] >= 0.85
    area = {preset: told["clean"][preset]["auc"] for preset in PRESETS}
    assert area["eva"] >= 2 * max(area["uniform"], area["ladder030"])
    for condition in CONDITIONS:
        assert list(told[condition]) == curriculum.rows(condition)


def test_the_published_apprentices_are_all_there() -> None:
    told = figures.read("curriculum_real.json")["clean"]
    assert set(told) == set(curriculum_real.COMPARED)
    for cell in told.values():
        assert len(cell["curves"]) == curriculum_real.SEEDS
        assert cell["final"] == pytest.approx(np.mean([curve[-1] for curve in cell["curves"]]))


# -- the apprentice ----------------------------------------------------------------------------


@pytest.mark.parametrize("family", SHORT_FAMILIES)
def test_an_apprentice_flies_every_family_to_an_end(family: str) -> None:
    flown = fly(generate(family, 4, 60_007), Apprentice(BEGINNER), 60_007)
    assert flown.outcome != "ongoing"


def test_thresholds_decide_what_is_sent() -> None:
    spec = generate("retarget-v0", 3, 60_001)

    def first(**changes: float) -> Any:
        thresholds = np.array([changes.get(name, BEGINNER[n]) for n, name in enumerate(NAMES)])
        return fly(spec, Apprentice(thresholds), 1).commands[0]

    hasty, patient = first(haste=-6.0), first(haste=6.0)
    assert hasty.rate_deg_s > patient.rate_deg_s
    assert first(haste=-6.0, thrift=-6.0).rate_deg_s == 0.2


def test_a_step_goes_towards_the_members_that_were_paid_more() -> None:
    learner = Learner(np.random.default_rng(0), np.zeros(len(NAMES)))
    up, down = np.full(len(NAMES), 0.6), np.full(len(NAMES), -0.6)
    learner.learn([[(up, 1.0), (down, 0.0)]])
    assert (learner.thresholds > 0).all()
    learner.thresholds = np.zeros(len(NAMES))
    learner.learn([[(up, 0.5), (down, 0.5)]])
    assert (learner.thresholds == 0).all()


def test_an_apprentice_begins_anew_with_each_episode() -> None:
    spec = generate("recovery-v0", 4, 60_003)
    apprentice = Apprentice(np.array([0.0, 1.0, 0.0, -4.0, -4.0, -1.0]))
    assert fly(spec, apprentice, 1).commands == fly(spec, apprentice, 1).commands


# -- pictures ----------------------------------------------------------------------------------


def test_the_pictures_are_drawn_of_what_is_published(tmp_path: Path) -> None:
    real = figures.read("curriculum_real.json")
    drawn = [
        curriculum_plots.compared(
            figures.read("curriculum_synthetic.json"), real, tmp_path / "curriculum.png"
        ),
        curriculum_plots.run_picture(real["run"], tmp_path / "run.png"),
        curriculum_plots.lineage_picture(real["run"], tmp_path / "lineage.png"),
    ]
    for path in drawn:
        assert path.read_bytes().startswith(b"\x89PNG")


def test_a_snapshot_of_a_run_is_drawn_with_a_lineage_only_where_missions_evolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Database(IN_MEMORY)) as database:
        engine = Engine(Archive(database))
        engine.create(Run("mine", PRESETS["ladder030"], ("hold-v0",), 0))
        engine.assign("mine", 0, 0)
        (tmp_path / "early.json").write_bytes(snapshot.dump(engine.archive, "mine"))
        for member in range(8):
            engine.record("mine", 0, member, Outcome(True, 0.9, "succeeded"))
        (tmp_path / "curriculum.json").write_bytes(snapshot.dump(engine.archive, "mine"))
    with pytest.raises(SystemExit):
        drawing(monkeypatch, tmp_path / "early.json")
    assert "of no group of run 'mine' have all members flown yet" in capsys.readouterr().err
    drawing(monkeypatch, tmp_path / "curriculum.json")
    assert (tmp_path / "curriculum_run.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "curriculum_lineage.png").exists()
    assert "no lineage to draw" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, "", "{}", "[]", '{"run": "mine"}'])
def test_what_is_no_snapshot_is_not_drawn(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "curriculum.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit):
        drawing(monkeypatch, path)
    assert "curriculum.json is no snapshot of a run" in capsys.readouterr().err


def drawing(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr("sys.argv", ["plots", str(path)])
    curriculum_plots.main()
