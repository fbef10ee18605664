"""Two processes train one model, as on two GPUs; here on the CPU, where transformers cannot resume them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="needs the training environment: make notebook")

from orbital_ops_env.client import Runs
from orbital_ops_env.training.log import read

STEPS, GROUPS, SIZE = 2, 2, 2
SCRIPT = """
import sys
from orbital_ops_env.client import Runs
from orbital_ops_env.training import grpo
from orbital_ops_env.training.backends import load
from orbital_ops_env.training.chat import Chat
from orbital_ops_env.training.config import TrainingConfig, processes
from orbital_ops_env.training.pool import EnvPool
from orbital_ops_env.training.smoke import share_of_sevens

url, token, model, output = sys.argv[1:]
config = TrainingConfig(
    backend="trl", model=model, output=output, run_id="ranks", max_new_tokens=4, max_episode_tokens=16000,
    groups=2, group_size=2, micro_batch=1, grpo_steps=2, save_steps=2, held_out=1,
)
model = load(config)
with EnvPool(url, config.episodes // processes()) as pool:
    trainer = grpo.build(
        model, Chat(model.tokenizer), pool, config, Runs(url, token), extra_rewards=[share_of_sevens]
    )
    trainer.train()
"""


def train(url: str, tiny: str, folder: Path) -> None:
    """Train with two processes."""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    words = [url, "a token for tests", tiny, str(folder)]
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        str(script),
        *words,
    ]
    environment = os.environ | {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_two_processes_share_the_groups_of_a_step(url: str, tiny: str, runs: Runs, tmp_path: Path) -> None:
    train(url, tiny, tmp_path)
    rows = [row for row in read(tmp_path / "grpo/metrics.jsonl") if "group/live" in row]
    assert [row["step"] for row in rows] == [1, 2]
    assert all(row["grad_norm"] > 0 for row in rows)
    told = runs.status("ranks")
    assert (told.slots, told.outcomes) == (STEPS * GROUPS, STEPS * GROUPS * SIZE)
    assert (told.abandoned, told.again, told.alarms) == (0, 0, ())
    assert (tmp_path / "grpo/checkpoint-2/curriculum.json").exists()
