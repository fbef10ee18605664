"""A tiny random model and a dense reward, to run all of training on a CPU in a minute.

Neither can learn to fly: the model has 90 000 random weights and its tokens are bytes. They show that tokens,
masks, gradients, checkpoints and sessions go where they should.
"""

import sys
from pathlib import Path
from typing import Any, Final

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL_TOKENS: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CHATML: Final = (
    "{% for said in messages %}<|im_start|>{{ said.role }}\n{{ said.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MODULUS: Final = 7


def write_tiny_model(folder: Path, seed: int = 0) -> Path:
    """Write a two-layer Llama with random weights and a byte tokenizer with ChatML's template.

    Returns:
        The folder.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*SPECIAL_TOKENS, *alphabet])}
    bytewise = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    padding, beginning, end = SPECIAL_TOKENS
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytewise,
        bos_token=beginning,
        eos_token=end,
        pad_token=padding,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = CHATML
    torch.manual_seed(seed)
    network = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(vocabulary),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=16384,
            tie_word_embeddings=True,
            pad_token_id=vocabulary[padding],
            bos_token_id=vocabulary[beginning],
            eos_token_id=vocabulary[end],
        )
    )
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def share_of_sevens(completion_ids: list[list[int]], **_: Any) -> list[float]:
    """A reward that differs between any two episodes: the share of ids that seven divides."""
    return [sum(i % MODULUS == 0 for i in ids) / len(ids) for ids in completion_ids]


if __name__ == "__main__":
    print(write_tiny_model(Path(sys.argv[1])))  # noqa: T201
