"""A tiny random model and a dense reward, to run all of training on a CPU in a minute.

Neither can learn to fly: the model has some hundred thousand random weights. They show that tokens, masks,
gradients, checkpoints and sessions go where they should.
"""

import sys
from pathlib import Path
from typing import Any, Final

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from orbital_ops_env.client import SYSTEM_PROMPT

SPECIAL_TOKENS: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CHATML: Final = (
    "{% for said in messages %}<|im_start|>{{ said.role }}\n{{ said.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VOCABULARY: Final = 768
"""[-] tokens: special ones, bytes, and pieces of the system prompt, so that episodes are short."""
MODULUS: Final = 7


def write_tiny_model(folder: Path, seed: int = 0) -> Path:
    """Write a two-layer Llama with random weights and a tokenizer of our own with ChatML's template.

    Returns:
        The folder.
    """
    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    pieces.train_from_iterator([SYSTEM_PROMPT], trainer)
    vocabulary = pieces.get_vocab()
    padding, beginning, end = SPECIAL_TOKENS
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=pieces,
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
    """A reward that hardly ever ties: the share of ids that seven divides, where later ones count more."""
    return [
        sum(place for place, i in enumerate(ids, start=1) if i % MODULUS == 0) / sum(range(len(ids) + 1))
        for ids in completion_ids
    ]


if __name__ == "__main__":
    print(write_tiny_model(Path(sys.argv[1])))  # noqa: T201
