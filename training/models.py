"""Models that the notebook offers: which fits which GPU, and which were really run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

BILLION: Final = 1e9
GIB: Final = 2**30
QUANTISED_BYTES: Final = 4.127 / 8
"""[B] of a weight in nf4 with quantised constants (QLoRA, arXiv 2305.14314, section 3)."""
EMBEDDING_BYTES: Final = 2
"""[B] of an embedding weight; embeddings stay in 16 bits."""
CAREFUL: Final = {
    "groups": 2,
    "group_size": 4,
    "micro_batch": 4,
    "sft_micro_batch": 4,
    "sampling_batch": 16,
}
"""Batches for 16 GB of GPU memory, and for a model that is not in the table."""


@dataclass(frozen=True)
class LanguageModel:
    """A row of the table."""

    name: str
    """On the hub."""
    parameters: float
    """[1e9] in all."""
    embeddings: float
    """[1e9] of them, tied."""
    smallest_gpu_gib: float
    """[GiB] memory that a GPU should report, an estimate."""
    batches: Mapping[str, int]
    """Fields of `TrainingConfig` that fit the smallest GPU."""
    ran_on: str = ""
    """What it was really run on; empty where it was not."""

    @property
    def weights_gib(self) -> float:
        """[GiB] of the weights in 4 bits; training takes more."""
        layers = (self.parameters - self.embeddings) * QUANTISED_BYTES
        return BILLION * (layers + self.embeddings * EMBEDDING_BYTES) / GIB


MODELS: Final = (
    LanguageModel(
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        0.135,
        0.028,
        8,
        {"groups": 8, "group_size": 8, "micro_batch": 4, "sft_micro_batch": 4},
        "NVIDIA H200, Unsloth 4-bit",
    ),
    LanguageModel("unsloth/Qwen3-0.6B", 0.596, 0.156, 14, CAREFUL),
    LanguageModel("unsloth/Qwen2.5-1.5B-Instruct", 1.544, 0.233, 14, CAREFUL),
    LanguageModel(
        "unsloth/Qwen3-1.7B",
        1.721,
        0.311,
        22,
        {"groups": 4, "group_size": 6, "micro_batch": 6, "sft_micro_batch": 4, "sampling_batch": 32},
    ),
    LanguageModel(
        "unsloth/Qwen3-4B",
        4.022,
        0.389,
        39,
        {"groups": 8, "group_size": 8, "micro_batch": 16, "sft_micro_batch": 8, "sampling_batch": 64},
    ),
)


def gpu_gib() -> float:
    """[GiB] memory of the first GPU, 0 without one."""
    import torch

    return torch.cuda.get_device_properties(0).total_memory / GIB if torch.cuda.is_available() else 0.0


def default_model(gpu_gib: float) -> LanguageModel:
    """The model for a GPU: of those that want the most of its memory the smallest, since it is the fastest.

    Args:
        gpu_gib: [GiB] its memory; with little or none the smallest model of all.
    """
    fitting = [row for row in MODELS if row.smallest_gpu_gib <= gpu_gib] or [MODELS[0]]
    return max(fitting, key=lambda row: (row.smallest_gpu_gib, -row.parameters))


def settings(name: str | None = None) -> dict[str, Any]:
    """Arguments of `TrainingConfig`: the model and batches that fit it.

    Args:
        name: Name on the hub or folder; the default of this machine's GPU without one.
    """
    if name is None:
        row = default_model(gpu_gib())
        return {"model": row.name, **row.batches}
    known = {row.name: row.batches for row in MODELS}
    return {"model": name, **known.get(name, CAREFUL)}


def table() -> str:
    """The models in Markdown."""
    rows = [
        "| model | parameters [1e9] | 4-bit weights [GiB] | GPU from [GiB] | groups x episodes | ran on |",
        "|---|---|---|---|---|---|",
    ]
    for each in MODELS:
        rows.append(
            f"| `{each.name}` | {each.parameters:.2f} | {each.weights_gib:.1f} | {each.smallest_gpu_gib:.0f} "
            f"| {each.batches['groups']} x {each.batches['group_size']} | {each.ran_on or 'not run'} |"
        )
    return "\n".join(rows)
