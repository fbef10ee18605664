"""Warm a model up, then the gate: do its groups have enough signal for reinforcement learning?

    make gate ARGS='--model path/of/model --backend unsloth'

Ten zero-shot episodes, supervised warm-up on demonstrations, then groups of eight at temperature 1 on each
family and rung of levels. Writes `plots/data/gate.json` and the adapter, which `gpu_spike` goes on with.
"""

import argparse
import dataclasses
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Final

from orbital_ops_env.studies import figures
from orbital_ops_env.training import demonstrations
from orbital_ops_env.training.backends import Model, load, prepare
from orbital_ops_env.training.chat import Chat
from orbital_ops_env.training.config import TrainingConfig
from orbital_ops_env.training.demonstrations import Demonstration
from orbital_ops_env.training.evaluation import fly
from orbital_ops_env.training.pool import EnvPool
from orbital_ops_env.training.results import Gate, gate, groups, summary
from orbital_ops_env.training.rollout import Rollout
from orbital_ops_env.training.server import server
from orbital_ops_env.training.slots import RUNGS, evaluation

GROUPS: Final = 64
"""[-] of each family and rung."""
GROUP_SIZE: Final = TrainingConfig.group_size
ZERO_SHOT: Final = 10
"""[-] episodes before any training."""
SESSIONS: Final = 512
"""[-] episodes at once."""
SHOWN: Final = 3
"""[-] raw episodes printed."""


def members(family: str, rung: str, count: int) -> list[dict[str, Any]]:
    """Options of `reset` for groups on held-out missions: each mission `GROUP_SIZE` times."""
    return [chosen for chosen in evaluation(family, RUNGS[rung], count) for _ in range(GROUP_SIZE)]


def cells(rollouts: Sequence[Rollout]) -> dict[str, dict[str, float]]:
    """The gate's figures by level."""
    by_level: dict[int, list[Rollout]] = {}
    for group in groups(rollouts, GROUP_SIZE):
        by_level.setdefault(group[0].options["level"], []).extend(group)
    return {str(level): figure(gate(flown, GROUP_SIZE)) for level, flown in sorted(by_level.items())}


def figure(found: Gate) -> dict[str, Any]:
    """A gate as it is written."""
    return dataclasses.asdict(found) | {"passed": found.passed}


def best(rungs: dict[str, dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """The family and rung that passes with the most live groups; without one, the most live groups."""
    found = [
        (cell["passed"], cell["live_groups"], family, rung)
        for family, by_rung in rungs.items()
        for rung, cell in by_rung.items()
    ]
    _, _, family, rung = max(found)
    return rungs[family][rung] | {"family": family, "levels": f"{RUNGS[rung][0]}-{RUNGS[rung][-1]}"}


def show(rollouts: Sequence[Rollout]) -> None:
    """Print some raw episodes, the ones with the worst replies first."""
    for rollout in sorted(rollouts, key=lambda each: each.valid_turns)[:SHOWN]:
        print(f"{rollout}\n", flush=True)


def zero_shot(pool: EnvPool, model: Model, chat: Chat, config: TrainingConfig) -> dict[str, float]:
    """What the untrained model does with the full prompt."""
    options = [o for family in config.families for o in evaluation(family, RUNGS["easy"], ZERO_SHOT // 2)]
    rollouts = fly(options, pool, model.sampler(config), chat)
    show(rollouts)
    return summary(rollouts)


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="gate", description=__doc__)
    parser.add_argument("--model", default=TrainingConfig.model, help="folder or name on the hub")
    parser.add_argument("--backend", default="unsloth", choices=("unsloth", "trl"))
    parser.add_argument("--server-python", default=sys.executable, help="environment with the extra server")
    parser.add_argument("--url", help="a server that runs already, instead of one of its own")
    parser.add_argument("--demonstrations", type=Path, help="file to teach from; default: fly them now")
    parser.add_argument(
        "--episodes", type=int, default=TrainingConfig.demonstrations, help="to fly; %(default)s"
    )
    parser.add_argument("--sft-steps", type=int, default=TrainingConfig.sft_steps, help="%(default)s")
    parser.add_argument("--rungs", nargs="+", default=list(RUNGS), choices=list(RUNGS))
    parser.add_argument("--groups", type=int, default=GROUPS, help="of each family and rung; %(default)s")
    parser.add_argument("--output", type=Path, default=Path("outputs/gate"))
    return parser.parse_args()


def taught(chosen: argparse.Namespace, pool: EnvPool) -> list[Demonstration]:
    """The demonstrations."""
    if chosen.demonstrations:
        return demonstrations.read(chosen.demonstrations)
    return demonstrations.collect(pool, chosen.episodes, seed=0)


def measure(
    chosen: argparse.Namespace, pool: EnvPool, model: Model, chat: Chat, config: TrainingConfig
) -> Generator[dict[str, Any]]:
    """The gate's figures, all so far, after each family and rung."""
    rungs: dict[str, dict[str, dict[str, Any]]] = {}
    by_level: dict[str, dict[str, Any]] = {}
    for family in config.families:
        for rung in chosen.rungs:
            rollouts = fly(members(family, rung, chosen.groups), pool, model.sampler(config), chat)
            rungs.setdefault(family, {})[rung] = figure(gate(rollouts, GROUP_SIZE))
            by_level.setdefault(family, {}).update(cells(rollouts))
            print(f"{family} {rung}: {rungs[family][rung]} {summary(rollouts)}", flush=True)
            show(rollouts)
            yield {"best": best(rungs), "rungs": rungs, "cells": by_level}


def run(chosen: argparse.Namespace, url: str) -> None:
    """Zero-shot episodes, warm-up and gate; the figures are written as they come."""
    prepare(chosen.backend)
    from orbital_ops_env.training import sft

    config = TrainingConfig(
        backend=chosen.backend,
        model=chosen.model,
        output=str(chosen.output),
        sft_steps=chosen.sft_steps,
        sampling_batch=SESSIONS,
    )
    model = load(config)
    chat = Chat(model.tokenizer)
    with EnvPool(url, SESSIONS) as pool:
        untrained = zero_shot(pool, model, chat, config)
        print(f"zero-shot: {untrained}", flush=True)
        teach = taught(chosen, pool)
        history = sft.train(model, chat, teach, config)
        model.save_adapter(chosen.output / "adapter")
        print(f"warm-up on {len(teach)} episodes: {history[-2]}", flush=True)
        run_facts = {
            "groups": chosen.groups,
            "group_size": GROUP_SIZE,
            "zero_shot": untrained,
            "sft": {"episodes": len(teach), "steps": config.sft_steps, "last": history[-2]},
            "config": config.published(),
        }
        first = evaluation(config.families[0], (0,), 1)[0]["seed"]
        seeds = f"missions and episodes from {first} on, {chosen.groups} a rung; training {config.seed}"
        command = f"make gate ARGS='--groups {chosen.groups} --rungs {' '.join(chosen.rungs)}'"
        for found in measure(chosen, pool, model, chat, config):
            print(f"written to {figures.write('gate.json', command, seeds, found | run_facts)}")


def main() -> int:
    """Run the gate; the exit status says only whether it could be measured."""
    chosen = options()
    with server(chosen.url, chosen.server_python, MAX_CONCURRENT_ENVS=str(2 * SESSIONS)) as url:
        run(chosen, url)
    return 0


if __name__ == "__main__":
    sys.exit(main())
