"""Token ids of a conversation, written once and never decoded and encoded again."""

from collections.abc import Sequence
from typing import Any, Final

from orbital_ops_env.client import SYSTEM_PROMPT

_REPLY: Final = "\x00reply\x00"
"""Stands for a reply while the chat template is asked what surrounds one."""


class Chat:
    """What a model's chat template puts around texts and replies.

    Args:
        tokenizer: A Hugging Face tokenizer with a chat template.
        system: The system prompt.
        **template: Passed to the template, as `enable_thinking=False`.

    Raises:
        ValueError: The template changes replies, or the tokenizer has no end-of-turn token.
    """

    def __init__(self, tokenizer: Any, system: str = SYSTEM_PROMPT, **template: Any) -> None:
        if tokenizer.eos_token_id is None:
            raise ValueError("the tokenizer has no end-of-turn token (eos_token)")
        self.end: int = tokenizer.eos_token_id
        self._tokenizer, self._system, self._template = tokenizer, system, template

    def opening(self, text: str) -> list[int]:
        """Ids of the system prompt and the first text, up to where the reply begins."""
        return self._ids(self._rendered([*self._head(), {"role": "user", "content": text}]))

    def turn(self, text: str) -> list[int]:
        """Ids that follow a reply: the end of its turn, the next text, up to where the next reply begins."""
        said = [{"role": "user", "content": "-"}, {"role": "assistant", "content": _REPLY}]
        whole = self._rendered([*self._head(), *said, {"role": "user", "content": text}])
        _, found, after = whole.partition(_REPLY)
        if not found:
            raise ValueError("the chat template changes replies; choose a model whose template keeps them")
        ids = self._ids(after)
        if self.end not in ids:
            raise ValueError("the chat template does not end a reply with the tokenizer's eos_token")
        return ids[ids.index(self.end) :]

    def reply(self, text: str) -> list[int]:
        """Ids of a reply and the end of its turn, as a model that is taught it should sample them."""
        return [*self._ids(text), self.end]

    def text(self, reply: Sequence[int]) -> str:
        """A reply in words, without its end-of-turn token."""
        return self._tokenizer.decode([i for i in reply if i != self.end], skip_special_tokens=False)

    def _head(self) -> list[dict[str, str]]:
        return [{"role": "system", "content": self._system}]

    def _rendered(self, messages: list[dict[str, str]]) -> str:
        return self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **self._template
        )

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])


class Conversation:
    """The ids of one episode and whose they are.

    Args:
        chat: The chat template.
        text: The environment's first text.
    """

    def __init__(self, chat: Chat, text: str) -> None:
        self._chat = chat
        self.prompt_ids: list[int] = chat.opening(text)
        self.completion_ids: list[int] = []
        self.owned: list[int] = []
        """1 for each id of the completion that is the model's, 0 for the environment's."""

    @property
    def ids(self) -> list[int]:
        """Everything so far."""
        return self.prompt_ids + self.completion_ids

    def reply(self, ids: Sequence[int], *, owned: bool = True) -> None:
        """Put a reply; one that is not the model's own teaches nothing."""
        self._put(ids, owned)

    def hear(self, text: str) -> None:
        """Put the environment's next text."""
        self._put(self._chat.turn(text)[self._ended :], False)

    def close(self) -> None:
        """End the last reply's turn, if the reply has not ended it itself."""
        self._put([self._chat.end][self._ended :], False)

    @property
    def _ended(self) -> int:
        return int(self.completion_ids[-1:] == [self._chat.end])

    def _put(self, ids: Sequence[int], owned: bool) -> None:
        self.completion_ids += ids
        self.owned += [int(owned)] * len(ids)
