"""Whether a trainer trains what was sampled: its gradient and likelihoods against plain, unpadded ones."""

import copy
from collections.abc import Sequence
from typing import Any
from unittest import mock

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import GenerationConfig

from orbital_ops_env.training.chat import Conversation
from orbital_ops_env.training.sampler import Sampler


def token_likelihoods(net: Any, ids: Sequence[int]) -> torch.Tensor:
    """[ln] of each id but the first given those before it, in one pass without padding; [tokens - 1]."""
    row = torch.tensor([list(ids)], device=net.device)
    bf16 = row.device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    with torch.autocast(row.device.type, dtype=torch.bfloat16, enabled=bf16):
        logits = net(input_ids=row).logits
    return torch.log_softmax(logits[0, :-1].float(), -1).gather(1, row[0, 1:, None])[:, 0]


def policy_gradient(net: Any, talks: Sequence[Conversation], advantages: Sequence[float]) -> Any:
    """Gradient of minus the advantage-weighted likelihood of the model's own tokens, per own token; flat."""
    own = sum(sum(talk.owned) for talk in talks)
    net.zero_grad(set_to_none=True)
    for talk, advantage in zip(talks, advantages, strict=True):
        owned = torch.tensor([0] * len(talk.prompt_ids) + talk.owned, device=net.device)
        (-advantage / own * (token_likelihoods(net, talk.ids) * owned[1:]).sum()).backward()
    return _gradient(net)


def trainer_gradient(trainer: Any, talks: Sequence[Conversation], advantages: Sequence[float]) -> Any:
    """Gradient of a `GRPOTrainer`'s own loss on the same episodes as one padded micro-batch; flat."""
    net, padding = trainer.model, trainer.processing_class.pad_token_id

    def pad(rows: Sequence[Sequence[int]], value: int, side: str) -> torch.Tensor:
        tensors = [torch.tensor(list(row)) for row in rows]
        return pad_sequence(tensors, batch_first=True, padding_value=value, padding_side=side).to(net.device)

    inputs = {
        "prompt_ids": pad([talk.prompt_ids for talk in talks], padding, "left"),
        "prompt_mask": pad([[1] * len(talk.prompt_ids) for talk in talks], 0, "left"),
        "completion_ids": pad([talk.completion_ids for talk in talks], padding, "right"),
        "completion_mask": pad([[1] * len(talk.completion_ids) for talk in talks], 0, "right"),
        "tool_mask": pad([talk.owned for talk in talks], 1, "right"),
        "advantages": torch.tensor(list(advantages), device=net.device),
        "num_items_in_batch": torch.tensor(sum(sum(talk.owned) for talk in talks), device=net.device),
    }
    net.zero_grad(set_to_none=True)
    net.train()
    trainer.current_gradient_accumulation_steps = trainer.args.gradient_accumulation_steps
    with trainer.accelerator.autocast():
        loss = trainer.compute_loss(net, inputs)
    loss.backward()
    return _gradient(net)


def agreement(ours: Any, theirs: Any) -> dict[str, float]:
    """Cosine between two gradients and the ratio of their lengths."""
    cosine = torch.nn.functional.cosine_similarity(ours, theirs, dim=0)
    return {"cosine": float(cosine), "length_ratio": float(theirs.norm() / ours.norm())}


def sampled_against_trained(net: Any, sampler: Sampler, contexts: list[list[int]]) -> dict[str, float]:
    """How far the likelihoods of fresh replies, as they were drawn, are from those in training mode.

    Args:
        net: The network.
        sampler: Samples from it at temperature 1, all contexts as one batch.
        contexts: Ids before each reply.

    Returns:
        Number of tokens, mean and greatest absolute difference [ln], and the mean likelihood ratio, which is
        1 if replies are drawn from the policy that is trained.
    """
    drawn: list[torch.Tensor] = []
    generate = net.generate

    def watched(generation_config: GenerationConfig, **batch: Any) -> torch.Tensor:
        how = copy.deepcopy(generation_config)
        how.output_logits = how.return_dict_in_generate = True
        told = generate(**batch, generation_config=how)
        drawn[:] = [step.float().log_softmax(-1) for step in told.logits]  # one step: [batch, vocabulary]
        return told.sequences

    with mock.patch.object(net, "generate", watched):
        replies = sampler(contexts)
    net.train()
    apart: list[float] = []
    for row, (context, reply) in enumerate(zip(contexts, replies, strict=True)):
        with torch.no_grad():
            trained = token_likelihoods(net, context + reply)[len(context) - 1 :].tolist()
        said = [float(drawn[step][row, token]) for step, token in enumerate(reply)]
        apart += [now - then for now, then in zip(trained, said, strict=True)]
    found = torch.tensor(apart)
    return {
        "tokens": len(apart),
        "mean_absolute_difference": float(found.abs().mean()),
        "greatest_difference": float(found.abs().max()),
        "mean_ratio": float(found.exp().mean()),
    }


def _gradient(net: Any) -> torch.Tensor:
    parts = [p.grad.double().flatten().cpu() for p in net.parameters() if p.grad is not None]
    net.zero_grad(set_to_none=True)
    return torch.cat(parts)
