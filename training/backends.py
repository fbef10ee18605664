"""Where model and LoRA come from: `unsloth` (4-bit, one GPU) or `trl` (plain LoRA, CPU or GPU).

Unsloth patches transformers, peft and TRL as they load, so it must come first: call `prepare` before any
other module of training that needs them is imported.
"""

import copy
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

from orbital_ops_env.training.config import Backend, TrainingConfig

MIB: Final = 2**20


def prepare(backend: Backend) -> None:
    """Import what must be imported first.

    Raises:
        RuntimeError: It is too late: transformers is loaded without Unsloth's patches.
    """
    if backend != "unsloth":
        return
    if "transformers" in sys.modules and "unsloth" not in sys.modules:
        raise RuntimeError("transformers is imported already; call prepare('unsloth') before anything else")
    os.environ.setdefault("UNSLOTH_DECODE_CUDA_GRAPHS", "1")  # otherwise only TRL's own sampling has them
    import unsloth  # noqa: F401  # pyright: ignore[reportUnusedImport]


class Model(ABC):
    """A language model with a LoRA to train, its tokenizer, and what differs between backends.

    Attributes:
        net: The network with its adapter.
        tokenizer: Its tokenizer.
        precision: Arguments of the trainer that fit the machine.
    """

    net: Any
    tokenizer: Any
    precision: dict[str, Any]
    fills_batches = False
    """Whether each size of a batch costs a compilation."""

    @abstractmethod
    def generating(self, net: Any) -> AbstractContextManager[None]:
        """Context in which the network generates at its best; afterwards it trains on."""

    @abstractmethod
    def save_merged(self, folder: Path) -> None:
        """Write the network with the adapter merged in."""

    def sampler(self, config: TrainingConfig) -> Any:
        """What samples replies from it, a `Sampler`."""
        from orbital_ops_env.training.sampler import Sampler

        return Sampler(
            self.net,
            self.tokenizer,
            self.generating,
            max_new_tokens=config.max_new_tokens,
            temperature=config.temperature,
            batch=config.sampling_batch,
            filled=self.fills_batches,
        )

    def save_adapter(self, folder: Path) -> None:
        """Write adapter and tokenizer."""
        self.net.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


class UnslothModel(Model):
    """4-bit weights, LoRA in 16 bits, Unsloth's kernels."""

    fills_batches = True

    def __init__(self, config: TrainingConfig) -> None:
        from unsloth import FastLanguageModel

        net, self.tokenizer = FastLanguageModel.from_pretrained(
            config.model, max_seq_length=config.max_episode_tokens, load_in_4bit=True
        )
        if not hasattr(net, "peft_config"):
            net = FastLanguageModel.get_peft_model(
                net,
                **config.lora,
                use_gradient_checkpointing="unsloth",
                random_state=config.seed,
            )
        self.net = net
        self.precision = _precision() | {"optim": "adamw_8bit"}

    def generating(self, net: Any) -> AbstractContextManager[None]:
        """Nothing: Unsloth's `generate` goes into inference mode and back by itself."""
        return nullcontext()

    def save_merged(self, folder: Path) -> None:
        """Through Unsloth, which merges into the 16-bit weights rather than the 4-bit ones."""
        self.net.save_pretrained_merged(str(folder), self.tokenizer, save_method="merged_16bit")


class TrlModel(Model):
    """Weights as they are stored, LoRA by peft."""

    def __init__(self, config: TrainingConfig) -> None:
        import torch
        from peft import AutoPeftModelForCausalLM, LoraConfig, get_peft_model
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.manual_seed(config.seed)
        mine = os.environ.get("LOCAL_RANK", "0")  # where several processes train, each has a GPU
        device = f"cuda:{mine}" if torch.cuda.is_available() else "cpu"
        self.tokenizer = AutoTokenizer.from_pretrained(config.model)
        if (Path(config.model) / "adapter_config.json").exists():
            net = AutoPeftModelForCausalLM.from_pretrained(
                config.model, dtype=torch.float32, is_trainable=True
            )
        else:
            lora = LoraConfig(
                **config.lora,
                task_type="CAUSAL_LM",
            )
            net = get_peft_model(
                AutoModelForCausalLM.from_pretrained(config.model, dtype=torch.float32), lora
            )
        self.net = net.to(device)
        self.precision = _precision()

    @contextmanager
    def generating(self, net: Any) -> Generator[None]:
        """Without dropout and gradient checkpointing, which switches off the key-value cache."""
        training, checkpointing = net.training, net.is_gradient_checkpointing
        net.eval()
        if checkpointing:
            net.gradient_checkpointing_disable()
        try:
            yield
        finally:
            if checkpointing:
                net.gradient_checkpointing_enable()
            net.train(training)

    def save_merged(self, folder: Path) -> None:
        """Of a copy, since merging for good would take the adapter from a run that goes on."""
        copy.deepcopy(self.net).merge_and_unload().save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def load(config: TrainingConfig) -> Model:
    """The model of a configuration; a folder with an adapter goes on with that adapter."""
    prepare(config.backend)
    return UnslothModel(config) if config.backend == "unsloth" else TrlModel(config)


def _precision() -> dict[str, Any]:
    """bf16 where the GPU has it, fp16 on an older one, neither on a CPU."""
    import torch

    if not torch.cuda.is_available():
        return {"use_cpu": True, "bf16": False, "fp16": False}
    modern = torch.cuda.is_bf16_supported(including_emulation=False)
    return {"bf16": modern, "fp16": not modern}


def gpu() -> dict[str, Any]:
    """Name of the GPU and its memory in MiB."""
    import torch

    if not torch.cuda.is_available():
        return {"gpu": "none", "total_mib": 0.0}
    whole = torch.cuda.get_device_properties().total_memory
    return {"gpu": torch.cuda.get_device_name(), "total_mib": whole / MIB}


def memory() -> dict[str, float]:
    """The most that this process has had of the GPU's memory so far, in MiB; empty without a GPU."""
    import torch

    if not torch.cuda.is_available():
        return {}
    most = {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}
    return {f"memory/{kind}_mib": size / MIB for kind, size in most.items()}
