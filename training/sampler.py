"""Replies of a model, sampled a batch at a time; the same for zero-shot, evaluation and training."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import GenerationConfig


class Sampler:
    """Samples the next reply of each conversation.

    Args:
        model: A causal language model.
        tokenizer: Its tokenizer, with an end-of-turn and a padding token.
        generating: Context in which the backend's model generates.
        max_new_tokens: [-] of one reply.
        temperature: [-] 0 takes the likeliest token.
        batch: [-] conversations decoded at once.
        filled: Fill batches up to powers of two, for a backend that compiles a step for each batch size.

    Raises:
        ValueError: Padding and end of turn are the same token, so that a reply's end could not be seen.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        generating: Callable[[Any], AbstractContextManager[Any]],
        *,
        max_new_tokens: int,
        temperature: float,
        batch: int,
        filled: bool = False,
    ) -> None:
        if tokenizer.pad_token_id is None or tokenizer.pad_token_id == tokenizer.eos_token_id:
            raise ValueError("the tokenizer needs a padding token (pad_token) that is not its eos_token")
        self.model, self._generating, self._batch, self._filled = model, generating, batch, filled
        self._pad, self._end = int(tokenizer.pad_token_id), int(tokenizer.eos_token_id)
        tokens = {
            "pad_token_id": self._pad,
            "eos_token_id": self._end,
            "bos_token_id": tokenizer.bos_token_id,
        }
        drawn = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
        how = drawn if temperature > 0 else {"do_sample": False}
        self._how = GenerationConfig(max_new_tokens=max_new_tokens, **how, **tokens)
        # A model brings defaults of its own, as a repetition penalty: its samples would not be its policy's.
        model.generation_config = GenerationConfig(**tokens)
        self.seconds = 0.0
        """[s] spent sampling so far."""
        self.tokens = 0
        """[-] tokens sampled so far."""
        self.passes = 0
        """[-] passes of the model so far, each a token further in every conversation of a batch."""

    def __call__(self, conversations: list[list[int]]) -> list[list[int]]:
        """The next reply of each conversation, its end of turn included if it came."""
        began = time.perf_counter()
        replies: list[list[int]] = []
        with self._generating(self.model), torch.no_grad():
            for first in range(0, len(conversations), self._batch):
                replies += self._sample(conversations[first : first + self._batch])
        self.seconds += time.perf_counter() - began
        self.tokens += sum(len(reply) for reply in replies)
        return replies

    def _sample(self, conversations: list[list[int]]) -> list[list[int]]:
        rows = [torch.tensor(ids) for ids in conversations]
        if self._filled:
            rows += [rows[-1]] * (min(_power_of_two(len(rows)), self._batch) - len(rows))
        ids = pad_sequence(rows, batch_first=True, padding_value=self._pad, padding_side="left")
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True, padding_side="left")
        device = self.model.device
        told = self.model.generate(
            input_ids=ids.to(device), attention_mask=mask.to(device), generation_config=self._how
        )
        said = told[:, ids.shape[1] :]
        self.passes += said.shape[1]
        return [self._own(row) for row in said[: len(conversations)].tolist()]

    def _own(self, ids: list[int]) -> list[int]:
        """A row up to its end of turn, all of it if none came; padding only ever follows an end."""
        return ids[: ids.index(self._end) + 1] if self._end in ids else ids


def _power_of_two(size: int) -> int:
    """The least one that is no smaller."""
    return 1 << (size - 1).bit_length()
