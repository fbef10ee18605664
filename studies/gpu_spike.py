"""GRPO on a real model for some dozens of steps, and what each of them cost.

    make gpu-spike ARGS='train alone --server-python .venv/bin/python'     one run
    make gpu-spike ARGS='train beside --at-once 4 --server-python ...'     four at once, beside-0 to beside-3
    make gpu-spike ARGS=report      all runs of outputs/gpu_spike, into plots/data/gpu_spike.json
    make gpu-spike ARGS=curve       plots/reward_curve.png from the published figures

A run that was interrupted goes on from its last checkpoint.
"""

import argparse
import json
import multiprocessing
import os
import secrets
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from orbital_ops_env.client import Runs
from orbital_ops_env.studies import figures
from orbital_ops_env.training.backends import gpu, load, prepare
from orbital_ops_env.training.config import TrainingConfig
from orbital_ops_env.training.pool import EnvPool
from orbital_ops_env.training.server import server

OUTPUT: Final = Path("outputs/gpu_spike")
CURVE: Final = figures.ROOT / "plots" / "reward_curve.png"
SECONDS: Final = ("step_time", "seconds/generation", "seconds/environment", "seconds/update")
KEPT: Final = (
    *SECONDS,
    "sampled_tokens",
    "sampling_passes",
    "reward/overall",
    "reward_std",
    "episode/success_rate",
    "episode/valid_turns",
    "episode/timeout_rate",
    "episode/turns",
    "group/live",
    "curriculum/window",
    "curriculum/window_level",
    "curriculum/repeated",
    "grad_norm",
    "loss",
    "memory/allocated_mib",
    "memory/reserved_mib",
)
"""Columns of the trainer's log that are published; the last two are there on a GPU only."""


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="gpu_spike", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="fly and train")
    train.add_argument("name", help="of the run")
    train.add_argument("--model", default="outputs/gate/adapter", help="adapter to go on with; %(default)s")
    train.add_argument("--backend", default="unsloth", choices=("unsloth", "trl"))
    train.add_argument("--server-python", default=sys.executable, help="environment with the extra server")
    train.add_argument("--url", help="a server that runs already, whose CURRICULUM_TOKEN is set here too")
    train.add_argument("--steps", type=int, default=TrainingConfig.grpo_steps, help="%(default)s")
    train.add_argument("--until", type=int, help="stop after this step, to go on later; default: the last")
    train.add_argument("--groups", type=int, default=TrainingConfig.groups, help="of eight; %(default)s")
    train.add_argument("--curriculum", default=TrainingConfig.curriculum, help="preset; %(default)s")
    train.add_argument("--seed", type=int, default=TrainingConfig.seed, help="of the first; %(default)s")
    train.add_argument("--at-once", type=int, default=1, help="runs side by side on the GPU; %(default)s")
    report = commands.add_parser("report", help="write the figures of all runs")
    report.add_argument("--output", type=Path, default=OUTPUT, help="folder of the runs; %(default)s")
    commands.add_parser("curve", help="draw the published run with the most steps")
    return parser.parse_args()


def configurations(chosen: argparse.Namespace) -> list[TrainingConfig]:
    """Of the runs, which differ in seed and folder."""
    one = TrainingConfig(
        backend=chosen.backend,
        model=chosen.model,
        output=str(OUTPUT / chosen.name),
        grpo_steps=chosen.steps,
        groups=chosen.groups,
        curriculum=chosen.curriculum,
        run_id=chosen.name,
        seed=chosen.seed,
    )
    if chosen.at_once == 1:
        return [one]
    return [
        replace(one, output=f"{one.output}-{n}", run_id=f"{one.run_id}-{n}", seed=one.seed + n)
        for n in range(chosen.at_once)
    ]


def train(config: TrainingConfig, runs: Runs, url: str, until: int | None, at_once: int) -> None:
    """One run, which may be one of several at once."""
    prepare(config.backend)
    from orbital_ops_env.training.chat import Chat
    from orbital_ops_env.training.grpo import StopAt, build

    began = time.perf_counter()
    folder = Path(config.output) / "grpo"
    _keep(folder / "config.json", config)
    model = load(config)
    loaded = time.perf_counter() - began
    facts = {"config": config.published(), "at_once": at_once, "seconds_to_load": loaded, **gpu()}
    (folder / "run.json").write_text(json.dumps(facts))
    with EnvPool(url, config.episodes) as pool:
        trainer = build(model, Chat(model.tokenizer), pool, config, runs)
        if until:
            trainer.add_callback(StopAt(until))
        trainer.train(resume_from_checkpoint=any(folder.glob("checkpoint-*")))
    model.save_adapter(folder / "adapter")


def train_all(configs: Sequence[TrainingConfig], runs: Runs, url: str, until: int | None) -> int:
    """All runs, each in a process of its own if there are several; how many failed."""
    if len(configs) == 1:
        train(configs[0], runs, url, until, 1)
        return 0
    spawn = multiprocessing.get_context("spawn")  # a fork would take no GPU with it
    started = [
        spawn.Process(target=train, args=(config, runs, url, until, len(configs))) for config in configs
    ]
    for each in started:
        each.start()
    for each in started:
        each.join()
    return sum(each.exitcode != 0 for each in started)


def _keep(path: Path, config: TrainingConfig) -> None:
    """Write a run's configuration, or make sure that a run that goes on has the same."""
    text = json.dumps(asdict(config), indent=1)
    if path.exists() and path.read_text() != text:
        raise ValueError(f"{path} is of another configuration: choose another name or the same options")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def figure(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> dict[str, Any]:
    """What one run cost and did, step by step.

    Args:
        rows: Its metrics.
        facts: Its `run.json`.
    """
    steps = [{"step": row["step"]} | {key: row[key] for key in KEPT if key in row} for row in rows]
    later = steps[1:] or steps  # the first one compiles
    tokens, sampling = (sum(step[key] for step in later) for key in ("sampled_tokens", SECONDS[1]))
    medians = {key: statistics.median(step[key] for step in later) for key in SECONDS}
    return {**medians, "tokens_per_s": tokens / sampling, **facts, "steps": steps}


def side_by_side(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """How much more runs at once get done than one alone; a run that died early counts for nothing."""
    paces: dict[str, list[float]] = {}
    for name, run in runs.items():
        together = name.rsplit("-", 1)[0] if run["at_once"] > 1 else name
        paces.setdefault(together, []).append(run["step_time"])
    alone = [run["step_time"] for run in runs.values() if run["at_once"] == 1]
    return {
        name: {
            "runs": len(seconds),
            "step_time": statistics.median(seconds),
            "throughput_ratio": sum(alone[0] / each for each in seconds) if alone else None,
        }
        for name, seconds in paces.items()
    }


def report(output: Path) -> Path:
    """Publish the runs under a folder that have made a step, finished or not.

    Raises:
        FileNotFoundError: There is none.
    """
    from orbital_ops_env.training.log import read

    runs: dict[str, dict[str, Any]] = {}
    for path in sorted(output.glob("*/grpo/metrics.jsonl")):
        if rows := read(path):
            facts = json.loads((path.parent / "run.json").read_text())
            runs[path.parent.parent.name] = figure(rows, facts)
    if not runs:
        raise FileNotFoundError(f"no step of a run under {output}: expected */grpo/metrics.jsonl")
    seeds = "mission slots of the runs' seeds, named in each run's config"
    found = {"side_by_side": side_by_side(runs), "runs": runs}
    return figures.write("gpu_spike.json", "make gpu-spike", seeds, found)


def curve() -> Path:
    """Draw the published run with the most steps, over the untrained model's return."""
    from orbital_ops_env.training.plots import reward_curve

    runs = figures.read("gpu_spike.json")["runs"].values()
    longest = max(runs, key=lambda run: len(run["steps"]))
    untrained = figures.read("gate.json")["zero_shot"]["reward/overall"]
    return reward_curve(longest["steps"], untrained, CURVE)


def main() -> int:
    """Train, report or draw; the exit status."""
    chosen = options()
    if chosen.command == "report":
        print(f"written to {report(chosen.output)}")
        return 0
    if chosen.command == "curve":
        print(f"written to {curve()}")
        return 0
    configs = configurations(chosen)
    sessions = str(2 * sum(config.episodes for config in configs))
    token = os.environ.get("CURRICULUM_TOKEN") or secrets.token_hex()
    own = {"MAX_CONCURRENT_ENVS": sessions, "CURRICULUM_TOKEN": token}
    with server(chosen.url, chosen.server_python, **own) as url:
        return train_all(configs, Runs(url, token), url, chosen.until)


if __name__ == "__main__":
    sys.exit(main())
