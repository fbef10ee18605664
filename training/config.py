"""Every number of a training run, with the specification's beside it and why they differ.

`python -m orbital_ops_env.training.config` prints the table.
"""

import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

Backend = Literal["unsloth", "trl"]
LINEAR_LAYERS: Final = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class TrainingConfig:
    """One run. Change values with `dataclasses.replace`.

    Raises:
        ValueError: Values that do not fit together; the message says which.
    """

    backend: Backend = "unsloth"
    """`unsloth`: 4-bit LoRA on a GPU; `trl`: plain LoRA, on a CPU too. Never guessed."""
    model: str = "HuggingFaceTB/SmolLM2-135M-Instruct"
    """Folder or name on the hub; a folder with an adapter goes on with that adapter."""
    output: str = "outputs/training"
    """Folder for checkpoints, metrics and adapters."""
    seed: int = 42

    # -- missions --
    families: tuple[str, ...] = ("detumble-v0", "retarget-v0")
    curriculum: str = "eva"
    """How the server chooses missions: `uniform`, `ladder030`, `eva_literal` or `eva`,"""
    curriculum_changes: dict[str, Any] = field(default_factory=dict[str, Any])
    """with other numbers than the preset has, by name."""
    run_id: str = "first"
    """Name of the training in the server's curricula; a new one for each."""
    generation_steps: int = 4
    """[-] steps that a generation of missions lasts."""
    held_out: int = 32
    """[-] tasks of `val` of these families that are flown and reported at each checkpoint; 0 for none."""

    # -- sampling --
    max_new_tokens: int = 40
    """[-] of one reply."""
    temperature: float = 1.0
    max_episode_tokens: int = 3072
    """[-] prompt, replies and telemetry of one episode."""
    sampling_batch: int = 512
    """[-] conversations decoded at once."""

    # -- LoRA --
    lora_r: int = 16
    lora_alpha: int = 16
    lora_dropout: float = 0.0
    lora_bias: Literal["none"] = "none"
    lora_layers: tuple[str, ...] = LINEAR_LAYERS

    # -- warm start --
    demonstrations: int = 500
    """[-] episodes of the reference to learn from."""
    sft_steps: int = 120
    sft_batch: int = 32
    """[-] episodes an optimiser step."""
    sft_micro_batch: int = 16
    """[-] episodes a pass."""
    sft_learning_rate: float = 5e-4

    # -- GRPO --
    grpo_steps: int = 30
    groups: int = 8
    """[-] missions an optimiser step."""
    group_size: int = 8
    """[-] episodes of each mission."""
    micro_batch: int = 16
    """[-] episodes a pass."""
    learning_rate: float = 5e-5
    loss_type: str = "dapo"
    beta: float = 0.0
    """[-] weight of the divergence from the reference model."""
    epsilon_high: float = 0.28
    max_grad_norm: float = 1.0
    warmup_ratio: float = 0.1
    logging_steps: int = 1
    save_steps: int = 10
    show_every: int = 5
    """[-] steps between printed raw episodes."""

    def __post_init__(self) -> None:
        if self.backend not in ("unsloth", "trl"):
            raise ValueError(f"no backend {self.backend!r}: expected 'unsloth' (GPU) or 'trl' (GPU or CPU)")
        if self.episodes % self.micro_batch:
            raise ValueError(
                f"micro_batch={self.micro_batch} does not divide the {self.episodes} episodes of "
                f"{self.groups} groups of {self.group_size}"
            )
        if self.sft_batch % self.sft_micro_batch:
            raise ValueError(
                f"sft_micro_batch={self.sft_micro_batch} does not divide {self.sft_batch} episodes"
            )

    @property
    def lora(self) -> dict[str, Any]:
        """Of the adapter, under the names that peft and Unsloth share."""
        return {
            "r": self.lora_r,
            "lora_alpha": self.lora_alpha,
            "lora_dropout": self.lora_dropout,
            "bias": self.lora_bias,
            "target_modules": list(self.lora_layers),
        }

    @property
    def episodes(self) -> int:
        """[-] episodes a GRPO step, and sessions that the server must hold."""
        return self.groups * self.group_size

    def published(self) -> dict[str, Any]:
        """The values that matter to another reader: no folders of this machine."""
        return asdict(self) | {"model": Path(self.model).name, "output": ""}


def processes() -> int:
    """[-] Processes that train one model together, as `torchrun` and `accelerate launch` tell each."""
    return int(os.environ.get("WORLD_SIZE", "1"))


class Specified(NamedTuple):
    """What the specification sets, and why ours differs where it does."""

    value: Any
    why: str = ""


SPECIFICATION: Final[dict[str, Specified]] = {
    "learning_rate": Specified(5e-6, "a LoRA wants about ten times the rate of full weights"),
    "warmup_ratio": Specified(0.1),
    "grpo_steps": Specified("3 epochs", "missions are drawn anew, so there is no epoch"),
    "micro_batch": Specified(2, "the same gradient in fewer passes; 2 where memory is short"),
    "groups": Specified("4: batch 2 x accumulation 8 / 4", "four groups of four episodes are noise"),
    "group_size": Specified(4, "a group must hold a success and a failure to teach"),
    "max_new_tokens": Specified(256, "a reply is one telecommand, the longest has 30 tokens"),
    "temperature": Specified(0.8, "GRPO learns from spread; the likelihood ratio holds at temperature 1"),
    "max_episode_tokens": Specified(2048, "the longest hard episode, measured; 2304 do for levels 0 to 4"),
    "logging_steps": Specified(10, "a step is dozens of episodes"),
    "save_steps": Specified(100, "a run has some hundred steps and may be interrupted"),
    "lora_r": Specified(16),
    "lora_alpha": Specified(16),
    "lora_dropout": Specified(0.0),
    "lora_bias": Specified("none"),
    "lora_layers": Specified("seven linear layers"),
    "seed": Specified(42),
    "curriculum": Specified("ladder at 0.3", "the ladder is a preset, `ladder030`"),
}


def table(config: TrainingConfig | None = None) -> str:
    """Our values beside the specification's, in Markdown."""
    config = config or TrainingConfig()
    rows = ["| value | ours | specification | why |", "|---|---|---|---|"]
    for each in fields(config):
        ours, specified = getattr(config, each.name), SPECIFICATION.get(each.name, Specified(""))
        words = ", ".join(ours) if isinstance(ours, tuple) else str(ours)  # pyright: ignore
        rows.append(f"| `{each.name}` | {words} | {specified.value} | {specified.why} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())  # noqa: T201
