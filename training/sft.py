"""Warm start: teach the format and the procedure from demonstrations, before reinforcement learning."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch
from datasets import Dataset
from torch.nn.utils.rnn import pad_sequence
from transformers import Trainer, TrainingArguments

from orbital_ops_env.training.backends import Model
from orbital_ops_env.training.chat import Chat, Conversation
from orbital_ops_env.training.config import TrainingConfig
from orbital_ops_env.training.demonstrations import Demonstration

NOT_TAUGHT: Final = -100
"""Label of a token that no loss touches."""


def row(demonstration: Demonstration, chat: Chat) -> dict[str, list[int]]:
    """Ids and labels of one episode; the ids are those that `multi_turn` would make of it."""
    said = demonstration
    conversation = Conversation(chat, said.texts[0])
    for turn, (reply, taught) in enumerate(zip(said.replies, said.taught, strict=True), start=1):
        conversation.reply(chat.reply(reply), owned=taught)
        if turn < len(said.texts):
            conversation.hear(said.texts[turn])
    ids, prompt = conversation.ids, len(conversation.prompt_ids)
    owned = [0] * prompt + conversation.owned
    labels = [i if own else NOT_TAUGHT for i, own in zip(ids, owned, strict=True)]
    return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels}


def collate(rows: Sequence[dict[str, list[int]]], padding: int) -> dict[str, torch.Tensor]:
    """A batch, padded on the right: Unsloth ignores the attention mask where there are labels."""
    fill = {"input_ids": padding, "attention_mask": 0, "labels": NOT_TAUGHT}
    return {
        name: pad_sequence([torch.tensor(row[name]) for row in rows], batch_first=True, padding_value=value)
        for name, value in fill.items()
    }


def train(
    model: Model, chat: Chat, demonstrations: Sequence[Demonstration], config: TrainingConfig
) -> list[dict[str, Any]]:
    """Train the adapter on what the demonstrations teach.

    Returns:
        What the trainer logged, step by step.

    Raises:
        ValueError: An episode is longer than `max_episode_tokens`.
    """
    if not config.sft_steps:
        return []
    rows = [row(each, chat) for each in demonstrations]
    longest = max(len(each["input_ids"]) for each in rows)
    if longest > config.max_episode_tokens:
        raise ValueError(
            f"a demonstration has {longest} tokens, max_episode_tokens is {config.max_episode_tokens}"
        )
    arguments = TrainingArguments(
        output_dir=str(Path(config.output) / "sft"),
        max_steps=config.sft_steps,
        per_device_train_batch_size=config.sft_micro_batch,
        gradient_accumulation_steps=config.sft_batch // config.sft_micro_batch,
        learning_rate=config.sft_learning_rate,
        warmup_steps=config.warmup_ratio,
        lr_scheduler_type="cosine",
        logging_steps=config.logging_steps,
        save_strategy="no",
        report_to="none",
        seed=config.seed,
        train_sampling_strategy="group_by_length",
        **model.precision,
    )
    padding = model.tokenizer.pad_token_id
    trainer = Trainer(model.net, arguments, lambda batch: collate(batch, padding), Dataset.from_list(rows))
    trainer.train()
    return trainer.state.log_history
