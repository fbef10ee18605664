"""All of training on a CPU, on a real server, with a tiny random model."""

import argparse
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("trl", reason="needs the training environment: make notebook")

from orbital_ops_env.client import Runs, Tasks
from orbital_ops_env.studies import on_policy as on_policy_study
from orbital_ops_env.training import demonstrations, grpo, on_policy, sft
from orbital_ops_env.training.backends import Model, load
from orbital_ops_env.training.chat import Chat
from orbital_ops_env.training.config import TrainingConfig
from orbital_ops_env.training.curriculum import Curriculum
from orbital_ops_env.training.demonstrations import Demonstration
from orbital_ops_env.training.log import read
from orbital_ops_env.training.pool import EnvPool
from orbital_ops_env.training.rollout import multi_turn
from orbital_ops_env.training.slots import evaluation, slot
from orbital_ops_env.training.smoke import share_of_sevens


@pytest.fixture(scope="module")
def config(tiny: str, tmp_path_factory: pytest.TempPathFactory) -> TrainingConfig:
    return TrainingConfig(
        backend="trl",
        model=tiny,
        output=str(tmp_path_factory.mktemp("run")),
        max_new_tokens=4,
        max_episode_tokens=16000,
        groups=2,
        group_size=2,
        micro_batch=2,
        sft_steps=2,
        sft_batch=2,
        sft_micro_batch=1,
        grpo_steps=4,
        save_steps=2,
        held_out=2,
        learning_rate=1e-3,
    )


@pytest.fixture
def pool(url: str, config: TrainingConfig) -> Any:
    with EnvPool(url, config.episodes) as pool:
        yield pool


def weights(model: Model) -> dict[str, Any]:
    return {name: each.detach().clone() for name, each in model.net.named_parameters() if each.requires_grad}


def run(
    config: TrainingConfig, pool: EnvPool, runs: Runs, *, rewarded: bool, until: int | None = None
) -> Any:
    """A fresh model trained on, from the last checkpoint if there is one."""
    model = load(config)
    extra = [share_of_sevens] if rewarded else []
    trainer = grpo.build(model, Chat(model.tokenizer), pool, config, runs, extra_rewards=extra)
    if until:
        trainer.add_callback(grpo.StopAt(until))
    trainer.train(resume_from_checkpoint=any(Path(config.output, "grpo").glob("checkpoint-*")))
    return trainer


def test_the_warm_up_teaches_exactly_the_replies_that_are_the_references(
    pool: EnvPool, config: TrainingConfig
) -> None:
    model = load(config)
    chat = Chat(model.tokenizer)
    said = Demonstration({}, ["first", "second", "third"], ["one", "two", "three"], [True, False, True])
    row = sft.row(said, chat)
    taught = [i for i, label in zip(row["input_ids"], row["labels"], strict=True) if label != sft.NOT_TAUGHT]
    assert taught == [*chat.reply("one"), *chat.reply("three")]
    assert all(label in (i, sft.NOT_TAUGHT) for i, label in zip(row["input_ids"], row["labels"], strict=True))

    before = weights(model)
    history = sft.train(model, chat, demonstrations.collect(pool, 4, seed=1), config)
    assert history[0]["grad_norm"] > 0
    assert any((weights(model)[name] != old).any() for name, old in before.items())


def test_the_warm_up_sees_the_tokens_that_a_rollout_makes(pool: EnvPool, config: TrainingConfig) -> None:
    chat = Chat(load(config).tokenizer)
    (shown,) = demonstrations.fly([slot(1, "easy", 0, config.families)], pool, np.random.default_rng(1))
    turn = iter(shown.replies)
    (rollout,) = multi_turn([shown.options], pool, lambda batch: [chat.reply(next(turn))], chat)
    assert sft.row(shown, chat)["input_ids"] == rollout.conversation.ids


def test_a_demonstration_beyond_the_token_limit_is_refused(config: TrainingConfig) -> None:
    model = load(config)
    short = dataclasses.replace(config, max_episode_tokens=100)
    said = Demonstration({}, ["first"], ["one"], [True])
    with pytest.raises(ValueError, match="max_episode_tokens is 100"):
        sft.train(model, Chat(model.tokenizer), [said], short)


def test_exactly_the_sampled_tokens_are_trained(
    pool: EnvPool, config: TrainingConfig, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = dataclasses.replace(config, output=str(tmp_path), grpo_steps=1, run_id="sampled")
    trained: list[tuple[list[int], list[int]]] = []
    missions: list[grpo.Missions] = []
    compute, sample = grpo.GRPOTrainer._compute_loss, grpo.Missions.sample

    def computing(self: Any, model: Any, inputs: dict[str, Any]) -> Any:
        mask = inputs["completion_mask"] * inputs["tool_mask"]
        trained.extend(
            (ids[own.bool()].tolist(), [int(inputs["num_items_in_batch"])])
            for ids, own in zip(inputs["completion_ids"], mask, strict=True)
        )
        return compute(self, model, inputs)

    def sampling(self: grpo.Missions, prompts: Any, trainer: Any) -> Any:
        missions.append(self)
        return sample(self, prompts, trainer)

    monkeypatch.setattr(grpo.GRPOTrainer, "_compute_loss", computing)
    monkeypatch.setattr(grpo.Missions, "sample", sampling)
    run(here, pool, runs, rewarded=True)
    talks = [rollout.conversation for rollout in missions[0].rollouts]
    own = [[i for i, mine in zip(t.completion_ids, t.owned, strict=True) if mine] for t in talks]
    assert sorted(ids for ids, _ in trained) == sorted(own)
    assert {total for _, (total,) in trained} == {sum(len(ids) for ids in own)}


def test_the_trainers_gradient_is_the_policy_gradient_of_the_sampled_tokens(
    pool: EnvPool, config: TrainingConfig, runs: Runs
) -> None:
    model = load(config)
    chat = Chat(model.tokenizer)
    options = [slot(3, "hard", n, config.families) for n in range(config.episodes)]
    talks = [each.conversation for each in multi_turn(options, pool, model.sampler(config), chat)]
    trainer = grpo.build(model, chat, pool, config, runs)
    weights = [1.0, -0.5, 0.25, -2.0]
    ours = on_policy.policy_gradient(model.net, talks, weights)
    theirs = on_policy.trainer_gradient(trainer, talks, weights)
    assert on_policy.agreement(ours, theirs) == pytest.approx({"cosine": 1, "length_ratio": 1}, abs=1e-4)
    forgotten = on_policy.policy_gradient(model.net, talks, [1.0, -0.5, 0.25, 0.0])
    assert on_policy.agreement(forgotten, theirs)["cosine"] < 0.99


def test_the_comparison_of_sampler_and_trainer_runs(
    url: str, tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, Any] = {}

    def kept(name: str, command: str, seeds: str, told: dict[str, Any]) -> str:
        found.update(told)
        return name

    monkeypatch.setattr(on_policy_study.figures, "write", kept)
    monkeypatch.setattr(on_policy_study, "EPISODES", 8)
    chosen = argparse.Namespace(backend="trl", model=tiny, output=tmp_path)
    on_policy_study.run(chosen, url)
    assert len(found["tokens"]) == 8
    assert found["gradient"]["cosine"] == pytest.approx(1, abs=1e-3)


def stirred(model: Model) -> Model:
    """With an adapter that does something: a fresh one is zero."""
    for name, each in model.net.named_parameters():
        if "lora_B" in name:
            each.data.fill_(0.05)
    return model


@pytest.mark.parametrize(("dropout", "differs"), [(0.0, False), (0.5, True)])
def test_replies_are_drawn_from_the_policy_that_is_trained_unless_there_is_dropout(
    config: TrainingConfig, dropout: float, differs: bool
) -> None:
    longer = dataclasses.replace(config, max_new_tokens=20, lora_dropout=dropout)
    model = stirred(load(longer))
    contexts = [list(range(5, 5 + length)) for length in (3, 50, 7)]
    found = on_policy.sampled_against_trained(model.net, model.sampler(longer), contexts)
    assert (found["greatest_difference"] > 1e-3) == differs
    assert (abs(found["mean_ratio"] - 1) > 1e-4) == differs


def test_a_random_models_groups_are_dead_and_a_dense_reward_gives_them_a_gradient(
    sessions: Callable[[int], int], pool: EnvPool, config: TrainingConfig, runs: Runs, tmp_path: Path
) -> None:
    dead = dataclasses.replace(config, output=str(tmp_path / "dead"), grpo_steps=1, run_id="dead")
    run(dead, pool, runs, rewarded=False)
    (row,) = [row for row in read(tmp_path / "dead/grpo/metrics.jsonl") if "group/live" in row]
    assert row["frac_reward_zero_std"] == 1.0
    assert row["grad_norm"] == 0.0
    assert row["group/live"] == row["episode/success_rate"] == row["episode/valid_turns"] == 0.0

    dense = dataclasses.replace(config, output=str(tmp_path / "dense"), grpo_steps=2, run_id="dense")
    trainer = run(dense, pool, runs, rewarded=True)
    rows = [row for row in read(tmp_path / "dense/grpo/metrics.jsonl") if "group/live" in row]
    assert [row["step"] for row in rows] == [1, 2]
    logged = {
        f"reward/{name}" for name in ("overall", "primary", "process", "efficiency", "safety", "format")
    }
    logged |= {"episode/success_rate", "episode/timeout_rate", "episode/valid_turns", "group/live"}
    for row in rows:
        assert row["grad_norm"] > 0
        assert logged <= row.keys()
        assert row["rewards/overall/mean"] == pytest.approx(row["reward/overall"], abs=1e-6)
        spent = row["seconds/generation"] + row["seconds/environment"] + row["seconds/update"]
        assert spent == pytest.approx(row["step_time"])
    assert sessions(config.episodes) == config.episodes
    pool.close()
    assert sessions(0) == 0
    assert trainer.state.global_step == 2
    told = runs.status("dense")
    assert (told.slots, told.outcomes, told.abandoned) == (2 * dense.groups, 2 * dense.episodes, 0)
    assert told.alarms == ()


def test_a_resumed_run_goes_on_as_if_never_interrupted(
    pool: EnvPool, config: TrainingConfig, runs: Runs, tmp_path: Path
) -> None:
    whole, halves = (
        dataclasses.replace(config, curriculum="uniform", output=str(tmp_path / name), run_id=name)
        for name in ("whole", "halves")
    )
    run(whole, pool, runs, rewarded=True)
    run(halves, pool, runs, rewarded=True, until=2)
    stray = {"split": "curriculum", "index": 99, "run_id": "halves", "member": 0}
    pool.reset({0: stray})
    assert runs.status("halves").slots == 2 * config.groups + 1
    run(halves, pool, runs, rewarded=True)
    assert runs.status("halves").slots == 4 * config.groups  # as it was at the checkpoint, and two steps
    assert runs.status("halves").outcomes == 4 * config.episodes
    straight, resumed = (read(Path(each.output) / "grpo/metrics.jsonl") for each in (whole, halves))
    straight, resumed = ([row for row in rows if "group/live" in row] for rows in (straight, resumed))
    assert [row["step"] for row in resumed] == [1, 2, 3, 4]
    levels = [[row["curriculum/window_level"] for row in rows] for rows in (straight, resumed)]
    assert levels[0] == levels[1]
    assert len({row["grad_norm"] for row in straight}) == 4
    for one, other in zip(straight, resumed, strict=True):
        for key in ("loss", "grad_norm", "reward/overall", "rewards/share_of_sevens/mean", "sampled_tokens"):
            assert other[key] == pytest.approx(one[key], abs=1e-6), (one["step"], key)


def test_held_out_tasks_of_the_same_families_are_reported_with_each_checkpoint(
    pool: EnvPool, config: TrainingConfig, runs: Runs, tmp_path: Path
) -> None:
    here = dataclasses.replace(config, output=str(tmp_path), run_id="reported")
    run(here, pool, runs, rewarded=True, until=2)
    snapshot = json.loads((tmp_path / "grpo/checkpoint-2/curriculum.json").read_text())
    (told,) = [json.loads(row[3]) for row in snapshot["tables"]["event"] if row[2] == "held_out"]
    assert (told["split"], told["episodes"], told["success"]) == ("val", 2, 0.0)
    assert runs.status("reported").outcomes == 2 * config.episodes  # which they are not part of


def test_a_checkpoint_that_does_not_fit_is_told_of(
    pool: EnvPool, config: TrainingConfig, runs: Runs, tmp_path: Path
) -> None:
    here = dataclasses.replace(config, output=str(tmp_path), run_id="unfit")
    run(here, pool, runs, rewarded=True, until=2)
    wider = dataclasses.replace(here, groups=1, group_size=4)
    with pytest.raises(ValueError, match="of a run with group_size, families and seed"):
        run(wider, pool, runs, rewarded=True)
    (tmp_path / "grpo/checkpoint-2/curriculum.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"checkpoint-2 has no curriculum\.json"):
        run(here, pool, runs, rewarded=True)


def test_changes_of_a_preset_leave_the_group_size_to_the_trainer(config: TrainingConfig, runs: Runs) -> None:
    changed = dataclasses.replace(config, curriculum_changes={"members": 7, "missions": 20, "edits": 3})
    asked = Curriculum(runs, Tasks("http://localhost:1"), lambda options: [], changed).asked()
    assert asked.changes == {"members": config.group_size, "missions": 20, "edits": 3}


def test_a_server_that_does_not_answer_costs_no_episodes(config: TrainingConfig) -> None:
    gone = Runs("http://localhost:1", "token")
    told = Curriculum(gone, Tasks("http://localhost:1"), lambda options: [], config).metrics()
    assert set(told.values()) == {0.0}


def test_a_models_own_defaults_do_not_change_what_is_sampled(config: TrainingConfig) -> None:
    likeliest = dataclasses.replace(config, temperature=0.0, max_new_tokens=20)
    plain, penal = load(likeliest), load(likeliest)
    penal.net.get_base_model().generation_config.repetition_penalty = 50.0
    penal.net.generation_config.repetition_penalty = 50.0
    talk = [[5, 6, 7, 5, 6, 7], [8, 9]]
    assert penal.sampler(likeliest)(talk) == plain.sampler(likeliest)(talk)


def test_filling_a_batch_changes_no_reply(config: TrainingConfig) -> None:
    likeliest = dataclasses.replace(config, temperature=0.0, sampling_batch=4)
    model = load(likeliest)
    talks = [[5, 6, 7], [8, 9], [10, 11, 12, 13], [14], [15, 16], [17], [18, 19]]
    alone = [model.sampler(likeliest)([talk])[0] for talk in talks]
    model.fills_batches = True
    assert model.sampler(likeliest)(talks) == alone


def test_what_cannot_be_trained_is_refused(
    pool: EnvPool, config: TrainingConfig, runs: Runs, tmp_path: Path
) -> None:
    model = load(config)
    chat = Chat(model.tokenizer)
    with pytest.raises(ValueError, match="GRPO needs spread"):
        grpo.build(model, chat, pool, dataclasses.replace(config, temperature=0.0), runs)
    short = dataclasses.replace(config, output=str(tmp_path), max_episode_tokens=100, run_id="short")
    with pytest.raises(ValueError, match="more than max_episode_tokens=100"):
        grpo.build(model, chat, pool, short, runs).train()


def test_a_metrics_line_that_a_crash_cut_short_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n{"step": 2}\n{"ste')
    assert read(tmp_path / "metrics.jsonl") == [{"step": 1}, {"step": 2}]


def test_the_saved_model_loads_and_flies(pool: EnvPool, config: TrainingConfig, tmp_path: Path) -> None:
    model = load(config)
    sft.train(model, Chat(model.tokenizer), demonstrations.collect(pool, 4, seed=1), config)
    model.save_adapter(tmp_path / "adapter")
    model.save_merged(tmp_path / "merged")
    options = evaluation("retarget-v0", (0,), 1)
    likeliest = dataclasses.replace(config, temperature=0.0)
    flown: list[list[int]] = []
    for folder in ("adapter", "merged"):
        again = load(dataclasses.replace(likeliest, model=str(tmp_path / folder)))
        (rollout,) = multi_turn(options, pool, again.sampler(likeliest), Chat(again.tokenizer))
        assert rollout.outcome != "ongoing"
        flown.append(rollout.conversation.completion_ids)
    (rollout,) = multi_turn(options, pool, model.sampler(likeliest), Chat(model.tokenizer))
    assert flown == [rollout.conversation.completion_ids] * 2
