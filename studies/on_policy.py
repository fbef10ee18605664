"""Does the trainer train what was sampled? Two comparisons on real episodes of a real model.

    make on-policy ARGS='--model outputs/gate/adapter --server-python .venv/bin/python'

- Likelihood: of sampled replies, as the sampler drew them (padded batches, cached decode steps, maybe fused
  kernels) against one pass over the unpadded episode in training mode. GRPO takes them to be the same.
- Gradient: of the trainer's loss on a padded batch against the plain policy gradient, episode by episode
  without padding. It shows that masks, padding and kernels leave only the sampled tokens.

Writes `plots/data/on_policy.json`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from orbital_ops_env.client import Runs
from orbital_ops_env.studies import figures
from orbital_ops_env.training.backends import load, prepare
from orbital_ops_env.training.chat import Chat, Conversation
from orbital_ops_env.training.config import TrainingConfig
from orbital_ops_env.training.evaluation import fly
from orbital_ops_env.training.pool import EnvPool
from orbital_ops_env.training.server import server
from orbital_ops_env.training.slots import RUNGS, evaluation

EPISODES: Final = 20
"""[-] one micro-batch: each family at each level."""
GROUP_SIZE: Final = 4


def contexts(talks: Sequence[Conversation]) -> list[list[int]]:
    """The ids before the last reply of each episode, all of unlike length."""
    found: list[list[int]] = []
    for talk in talks:
        last = max(n for n, own in enumerate(talk.owned) if own)
        first = max((n + 1 for n in range(last) if not talk.owned[n]), default=0)
        found.append(talk.prompt_ids + talk.completion_ids[:first])
    return found


def advantages(returns: Sequence[float]) -> list[float]:
    """Of episodes with these returns; evenly spread if all are alike."""
    spread = np.array(returns) - np.mean(returns)
    if not spread.any():
        spread = np.linspace(-1, 1, len(returns))
    return list(spread / spread.std())


def run(chosen: argparse.Namespace, url: str) -> None:
    """Both comparisons; the figures are written."""
    prepare(chosen.backend)
    from orbital_ops_env.training import on_policy
    from orbital_ops_env.training.grpo import build

    config = TrainingConfig(
        backend=chosen.backend,
        model=chosen.model,
        output=str(chosen.output),
        groups=EPISODES // GROUP_SIZE,
        group_size=GROUP_SIZE,
        micro_batch=EPISODES,
    )
    model = load(config)
    chat = Chat(model.tokenizer)
    with EnvPool(url, EPISODES) as pool:
        levels = [level for levels in RUNGS.values() for level in levels]
        options = [
            o for f in config.families for o in evaluation(f, levels, EPISODES // len(config.families))
        ]
        flown = fly(options, pool, model.sampler(config), chat)
        trainer = build(model, chat, pool, config, Runs(url, token="unused"))  # no run is begun
    talks = [rollout.conversation for rollout in flown]
    weights = advantages([rollout.return_ for rollout in flown])
    likelihood = on_policy.sampled_against_trained(model.net, model.sampler(config), contexts(talks))
    theirs = on_policy.trainer_gradient(trainer, talks, weights)
    ours = on_policy.policy_gradient(model.net, talks, weights)
    found = {
        "likelihood": likelihood,
        "gradient": on_policy.agreement(ours, theirs),
        "adapter_dtype": str(next(p.dtype for p in model.net.parameters() if p.requires_grad)),
        "tokens": [len(talk.ids) for talk in talks],
        "config": config.published(),
    }
    print(found)
    seeds = f"{EPISODES} evaluation missions over all levels; training seed {config.seed}"
    print(f"written to {figures.write('on_policy.json', 'make on-policy', seeds, found)}")


def main() -> int:
    """Compare; the exit status says only whether it could be done."""
    parser = argparse.ArgumentParser(prog="on_policy", description=__doc__)
    parser.add_argument("--model", default="outputs/gate/adapter", help="model or adapter; %(default)s")
    parser.add_argument("--backend", default="unsloth", choices=("unsloth", "trl"))
    parser.add_argument("--server-python", default=sys.executable, help="environment with the extra server")
    parser.add_argument("--url", help="a server that runs already, instead of one of its own")
    parser.add_argument("--output", type=Path, default=Path("outputs/on_policy"))
    chosen = parser.parse_args()
    with server(chosen.url, chosen.server_python) as url:
        run(chosen, url)
    return 0


if __name__ == "__main__":
    sys.exit(main())
