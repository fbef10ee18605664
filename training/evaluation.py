"""Flies a model's episodes for evaluation, a pool at a time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orbital_ops_env.training.chat import Chat
from orbital_ops_env.training.pool import EnvPool
from orbital_ops_env.training.rollout import Generate, Rollout, multi_turn


def fly(
    options: Sequence[Mapping[str, Any]],
    pool: EnvPool,
    generate: Generate,
    chat: Chat,
    heard: Callable[[int], None] = lambda flown: None,
) -> list[Rollout]:
    """Fly one episode for each set of reset options, as many at once as the pool has sessions.

    Args:
        options: Options of `reset`, one for each episode.
        pool: Sessions.
        generate: The model.
        chat: Its chat template.
        heard: Told after each pool how many episodes have been flown.

    Returns:
        The episodes in the order of their options.
    """
    rollouts: list[Rollout] = []
    while len(rollouts) < len(options):
        ahead = options[len(rollouts) : len(rollouts) + pool.capacity]
        rollouts += multi_turn(ahead, pool, generate, chat)
        heard(len(rollouts))
    return rollouts
