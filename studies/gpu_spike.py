"""GRPO on a real model for some dozens of steps, and what each of them cost.

    make gpu-spike ARGS='train NAME --server-python .venv/bin/python'    one run, into outputs/gpu_spike/NAME
    make gpu-spike ARGS=report                                    all runs, into plots/data/gpu_spike.json

A run that was interrupted goes on from its last checkpoint.
"""

import argparse
import json
import statistics
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from orbital_ops_env.studies import figures
from orbital_ops_env.training.backends import gpu, load, prepare
from orbital_ops_env.training.config import TrainingConfig
from orbital_ops_env.training.pool import EnvPool
from orbital_ops_env.training.server import local_server, wait_until_healthy

OUTPUT: Final = Path("outputs/gpu_spike")
KEPT: Final = {
    "step_time": "seconds",
    "seconds/generation": "seconds_generation",
    "seconds/environment": "seconds_environment",
    "seconds/update": "seconds_update",
    "sampled_tokens": "sampled_tokens",
    "sampling_passes": "sampling_passes",
    "reward/overall": "return",
    "reward_std": "return_std",
    "episode/success_rate": "success",
    "episode/valid_turns": "valid_turns",
    "episode/timeout_rate": "timeouts",
    "episode/turns": "turns",
    "group/live": "live_groups",
    "frac_reward_zero_std": "dead_groups",
    "ladder/rung": "rung",
    "grad_norm": "grad_norm",
    "loss": "loss",
}
"""Columns of the trainer's log that are published, and their names there."""


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="gpu_spike", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="fly and train")
    train.add_argument("name", help="of the run")
    train.add_argument("--model", default="outputs/gate/adapter", help="adapter to go on with; %(default)s")
    train.add_argument("--backend", default="unsloth", choices=("unsloth", "trl"))
    train.add_argument("--server-python", default=sys.executable, help="environment with the extra server")
    train.add_argument("--url", help="a server that runs already, instead of one of its own")
    train.add_argument("--steps", type=int, default=TrainingConfig.grpo_steps, help="%(default)s")
    train.add_argument("--until", type=int, help="stop after this step, to go on later; default: the last")
    train.add_argument("--groups", type=int, default=TrainingConfig.groups, help="of eight; %(default)s")
    train.add_argument("--rung", default=TrainingConfig.first_rung, help="of the ladder; %(default)s")
    train.add_argument("--seed", type=int, default=TrainingConfig.seed, help="%(default)s")
    report = commands.add_parser("report", help="write the figures of all runs")
    report.add_argument("--output", type=Path, default=OUTPUT, help="folder of the runs; %(default)s")
    return parser.parse_args()


def train(chosen: argparse.Namespace, url: str) -> None:
    """One run."""
    prepare(chosen.backend)
    from orbital_ops_env.training.chat import Chat
    from orbital_ops_env.training.grpo import StopAt, build

    began = time.perf_counter()
    config = TrainingConfig(
        backend=chosen.backend,
        model=chosen.model,
        output=str(OUTPUT / chosen.name),
        grpo_steps=chosen.steps,
        groups=chosen.groups,
        first_rung=chosen.rung,
        seed=chosen.seed,
    )
    folder = Path(config.output) / "grpo"
    _keep(folder / "config.json", config)
    model = load(config)
    loaded = time.perf_counter() - began
    with EnvPool(url, config.episodes) as pool:
        trainer = build(model, Chat(model.tokenizer), pool, config)
        if chosen.until:
            trainer.add_callback(StopAt(chosen.until))
        trainer.train(resume_from_checkpoint=any(folder.glob("checkpoint-*")))
    model.save_adapter(folder / "adapter")
    facts = {"config": config.published(), "seconds_to_load": loaded, **gpu()}
    (folder / "run.json").write_text(json.dumps(facts))


def _keep(path: Path, config: TrainingConfig) -> None:
    """Write a run's configuration, or make sure that a run that goes on has the same."""
    text = json.dumps(asdict(config), indent=1)
    if path.exists() and path.read_text() != text:
        raise ValueError(f"{path} is of another configuration: choose another name or the same options")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def figure(folder: Path) -> dict[str, Any]:
    """What one run cost and did, step by step."""
    from orbital_ops_env.training.log import read

    rows = [row for row in read(folder / "metrics.jsonl") if "step_time" in row]
    steps = [{"step": row["step"]} | {KEPT[key]: row[key] for key in KEPT} for row in rows]
    later = steps[1:] or steps  # the first one compiles
    medians = {
        key: statistics.median(step[key] for step in later)
        for key in ("seconds", "seconds_generation", "seconds_environment", "seconds_update")
    }
    return {
        **medians,
        "tokens_per_s": sum(s["sampled_tokens"] for s in later) / sum(s["seconds_generation"] for s in later),
        **json.loads((folder / "run.json").read_text()),
        "steps": steps,
    }


def main() -> int:
    """Train or report; the exit status."""
    chosen = options()
    if chosen.command == "report":
        runs = {
            path.parent.parent.name: figure(path.parent) for path in chosen.output.glob("*/grpo/run.json")
        }
        if not runs:
            print(f"no finished run under {chosen.output}", file=sys.stderr)
            return 1
        seeds = "mission slots of the runs' seeds, named in each run's config"
        written = figures.write("gpu_spike.json", "make gpu-spike", seeds, {"runs": runs})
        print(f"written to {written}")
    elif chosen.url:
        wait_until_healthy(chosen.url)
        train(chosen, chosen.url)
    else:
        sessions = str(2 * chosen.groups * TrainingConfig.group_size)
        with local_server(chosen.server_python, MAX_CONCURRENT_ENVS=sessions) as url:
            train(chosen, url)
    return 0


if __name__ == "__main__":
    sys.exit(main())
