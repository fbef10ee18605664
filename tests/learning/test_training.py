"""All of training on a CPU, on a real server, with a tiny random model."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("trl", reason="needs the training environment: make notebook")

from orbital_ops_env.training import demonstrations, grpo, on_policy, sft
from orbital_ops_env.training.backends import Model, load
from orbital_ops_env.training.chat import Chat
from orbital_ops_env.training.config import TrainingConfig
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
        learning_rate=1e-3,
    )


@pytest.fixture
def pool(url: str, config: TrainingConfig) -> Any:
    with EnvPool(url, config.episodes) as pool:
        yield pool


def weights(model: Model) -> dict[str, Any]:
    return {name: each.detach().clone() for name, each in model.net.named_parameters() if each.requires_grad}


def run(config: TrainingConfig, pool: EnvPool, *, rewarded: bool, until: int | None = None) -> Any:
    """A fresh model trained on, from the last checkpoint if there is one."""
    model = load(config)
    trainer = grpo.build(
        model, Chat(model.tokenizer), pool, config, extra_rewards=[share_of_sevens] if rewarded else []
    )
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
    pool: EnvPool, config: TrainingConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = dataclasses.replace(config, output=str(tmp_path), grpo_steps=1)
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
    run(here, pool, rewarded=True)
    talks = [rollout.conversation for rollout in missions[0].rollouts]
    own = [[i for i, mine in zip(t.completion_ids, t.owned, strict=True) if mine] for t in talks]
    assert sorted(ids for ids, _ in trained) == sorted(own)
    assert {total for _, (total,) in trained} == {sum(len(ids) for ids in own)}


def test_the_trainers_gradient_is_the_policy_gradient_of_the_sampled_tokens(
    pool: EnvPool, config: TrainingConfig
) -> None:
    model = load(config)
    chat = Chat(model.tokenizer)
    options = [slot(3, "hard", n, config.families) for n in range(config.episodes)]
    talks = [each.conversation for each in multi_turn(options, pool, model.sampler(config), chat)]
    trainer = grpo.build(model, chat, pool, config)
    weights = [1.0, -0.5, 0.25, -2.0]
    ours = on_policy.policy_gradient(model.net, talks, weights)
    theirs = on_policy.trainer_gradient(trainer, talks, weights)
    assert on_policy.agreement(ours, theirs) == pytest.approx({"cosine": 1, "length_ratio": 1}, abs=1e-4)
    forgotten = on_policy.policy_gradient(model.net, talks, [1.0, -0.5, 0.25, 0.0])
    assert on_policy.agreement(forgotten, theirs)["cosine"] < 0.99


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
    sessions: Callable[[int], int], pool: EnvPool, config: TrainingConfig, tmp_path: Path
) -> None:
    dead = dataclasses.replace(config, output=str(tmp_path / "dead"), grpo_steps=1)
    run(dead, pool, rewarded=False)
    (row,) = [row for row in read(tmp_path / "dead/grpo/metrics.jsonl") if "group/live" in row]
    assert row["frac_reward_zero_std"] == 1.0
    assert row["grad_norm"] == 0.0
    assert row["group/live"] == row["episode/success_rate"] == row["episode/valid_turns"] == 0.0

    dense = dataclasses.replace(config, output=str(tmp_path / "dense"), grpo_steps=2)
    trainer = run(dense, pool, rewarded=True)
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


def test_a_resumed_run_goes_on_as_if_never_interrupted(
    pool: EnvPool, config: TrainingConfig, tmp_path: Path
) -> None:
    climbing = dataclasses.replace(config, unlock_above=-1.0, unlock_after=3)
    whole, halves = (dataclasses.replace(climbing, output=str(tmp_path / n)) for n in ("whole", "halves"))
    run(whole, pool, rewarded=True)
    run(halves, pool, rewarded=True, until=2)
    run(halves, pool, rewarded=True)
    straight, resumed = (read(Path(each.output) / "grpo/metrics.jsonl") for each in (whole, halves))
    straight, resumed = ([row for row in rows if "group/live" in row] for rows in (straight, resumed))
    assert [row["step"] for row in resumed] == [1, 2, 3, 4]
    assert [row["ladder/rung"] for row in resumed] == [0.0, 0.0, 0.0, 1.0]
    assert len({row["grad_norm"] for row in straight}) == 4
    for one, other in zip(straight, resumed, strict=True):
        for key in ("loss", "grad_norm", "reward/overall", "rewards/share_of_sevens/mean", "sampled_tokens"):
            assert other[key] == pytest.approx(one[key], abs=1e-6), (one["step"], key)


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


def test_what_cannot_be_trained_is_refused(pool: EnvPool, config: TrainingConfig, tmp_path: Path) -> None:
    model = load(config)
    chat = Chat(model.tokenizer)
    with pytest.raises(ValueError, match="GRPO needs spread"):
        grpo.build(model, chat, pool, dataclasses.replace(config, temperature=0.0))
    short = dataclasses.replace(config, output=str(tmp_path), max_episode_tokens=100)
    with pytest.raises(ValueError, match="more than max_episode_tokens=100"):
        grpo.build(model, chat, pool, short).train()


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
