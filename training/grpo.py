"""GRPO over the wire: TRL's trainer samples whole episodes through `multi_turn`.

The dataset holds slot numbers, which no model ever sees; the server's curriculum decides which missions they
are. `Missions` flies them, hands tokens, mask and return to the trainer and logs what the episodes say.
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import TrainerCallback, TrainerControl, TrainerState
from trl import GRPOConfig, GRPOTrainer

from orbital_ops_env.client import Runs, Tasks
from orbital_ops_env.training.backends import Model, memory
from orbital_ops_env.training.chat import Chat
from orbital_ops_env.training.config import TrainingConfig, processes
from orbital_ops_env.training.curriculum import Curriculum
from orbital_ops_env.training.evaluation import fly
from orbital_ops_env.training.log import Log, trackers
from orbital_ops_env.training.pool import EnvPool
from orbital_ops_env.training.results import live, summary
from orbital_ops_env.training.rollout import Rollout, multi_turn
from orbital_ops_env.training.sampler import Sampler

Reward = Callable[..., list[float]]


class Missions:
    """Episodes for the trainer: its `rollout_func` and its one reward function.

    Args:
        config: The run.
        pool: A session for each episode of a step that this process flies.
        sampler: The model that is trained.
        chat: Its chat template.
        curriculum: Chooses the missions.
    """

    def __init__(
        self, config: TrainingConfig, pool: EnvPool, sampler: Sampler, chat: Chat, curriculum: Curriculum
    ) -> None:
        self._config, self._pool, self._sampler, self._chat = config, pool, sampler, chat
        self._curriculum = curriculum
        self.rollouts: list[Rollout] = []
        """The last step's, group after group."""
        self._metrics: dict[str, float] = {}

    def sample(self, prompts: Sequence[str], trainer: Any) -> dict[str, list[Any]]:
        """Fly an episode for each prompt, which is a slot number; TRL's `rollout_func`."""
        config = self._config
        first = trainer.accelerator.process_index * len(prompts)
        chosen = self._curriculum.options([int(each) for each in prompts], first)
        sampler, pool = self._sampler, self._pool
        sampling, flying, tokens, passes = sampler.seconds, pool.seconds, sampler.tokens, sampler.passes
        self.rollouts = multi_turn(chosen, pool, sampler, self._chat)
        longest = max(len(rollout.conversation.ids) for rollout in self.rollouts)
        if longest > config.max_episode_tokens:
            raise ValueError(
                f"an episode has {longest} tokens, more than max_episode_tokens={config.max_episode_tokens}"
            )
        self._metrics = summary(self.rollouts) | {
            "group/live": live(self.rollouts, config.group_size),
            **self._curriculum.metrics(),
            "seconds/generation": sampler.seconds - sampling,
            "seconds/environment": pool.seconds - flying,
            "sampled_tokens": float(sampler.tokens - tokens),
            "sampling_passes": float(sampler.passes - passes),
            **memory(),
        }
        talks = [rollout.conversation for rollout in self.rollouts]
        return {
            "prompt_ids": [talk.prompt_ids for talk in talks],
            "completion_ids": [talk.completion_ids for talk in talks],
            "env_mask": [talk.owned for talk in talks],
            "logprobs": None,  # type: ignore[dict-item]
            "returned": [rollout.return_ for rollout in self.rollouts],
        }

    def overall(
        self, returned: list[float], log_metric: Callable[[str, float], None], **_: Any
    ) -> list[float]:
        """The return, and nothing else, is what is trained; the components are only logged."""
        for name, value in self._metrics.items():
            log_metric(name, value)
        return returned


class StopAt(TrainerCallback):
    """Interrupts a run after a step, with a checkpoint, to go on later."""

    def __init__(self, step: int) -> None:
        self._step = step

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Stop and save when the step has come."""
        if state.global_step >= self._step:
            control.should_training_stop = control.should_save = True


def build(
    model: Model,
    chat: Chat,
    pool: EnvPool,
    config: TrainingConfig,
    runs: Runs,
    *,
    extra_rewards: Sequence[Reward] = (),
) -> Any:
    """The `GRPOTrainer`; `trainer.train(resume_from_checkpoint=True)` goes on where a run was interrupted.

    Where several processes train, each calls this; they share the groups of a step evenly.

    Args:
        model: What to train.
        chat: Its chat template.
        pool: A session for each episode of a step that this process flies, `config.episodes` if it is alone.
        config: The run.
        runs: Curricula of the server that the sessions are on.
        extra_rewards: Further reward functions of weight 1, for tests of the plumbing only.

    Raises:
        ValueError: The temperature is 0, or the groups cannot be shared evenly, or, during training, an
            episode is longer than `max_episode_tokens`.
    """
    sharing = processes()
    if config.groups % sharing or config.episodes % (config.micro_batch * sharing):
        raise ValueError(
            f"{sharing} processes cannot share {config.groups} groups of {config.group_size} in passes of "
            f"{config.micro_batch}: expected that they divide the groups, and each one's episodes into passes"
        )
    if config.temperature <= 0:
        raise ValueError(f"temperature={config.temperature}: GRPO needs spread, expected more than 0")
    sampler = model.sampler(config)
    flown = functools.partial(fly, pool=pool, generate=sampler, chat=chat)
    curriculum = Curriculum(runs, Tasks(pool.url), flown, config)
    missions = Missions(config, pool, sampler, chat, curriculum)
    output = Path(config.output) / "grpo"
    arguments = GRPOConfig(
        output_dir=str(output),
        seed=config.seed,
        max_steps=config.grpo_steps,
        per_device_train_batch_size=config.micro_batch,
        gradient_accumulation_steps=config.episodes // (config.micro_batch * sharing),
        num_generations=config.group_size,
        max_completion_length=config.max_episode_tokens,
        mask_truncated_completions=True,
        shuffle_dataset=False,
        learning_rate=config.learning_rate,
        warmup_steps=config.warmup_ratio,
        lr_scheduler_type="constant_with_warmup",
        max_grad_norm=config.max_grad_norm,
        loss_type=config.loss_type,
        beta=config.beta,
        epsilon_high=config.epsilon_high,
        temperature=config.temperature,
        logging_steps=config.logging_steps,
        save_steps=config.save_steps,
        report_to=trackers(),
        **model.precision,
    )
    prompts = [str(number) for number in range(config.grpo_steps * config.groups)]
    return GRPOTrainer(
        model=model.net,
        reward_funcs=[missions.overall, *extra_rewards],
        args=arguments,
        train_dataset=Dataset.from_dict({"prompt": prompts}),
        processing_class=model.tokenizer,
        rollout_func=missions.sample,
        callbacks=[curriculum, Log(output / "metrics.jsonl", missions, config.show_every)],
    )
