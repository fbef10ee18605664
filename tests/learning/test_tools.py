"""TRL's own loop flies the tools: one step on a CPU, against a real server."""

import inspect
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

from orbital_ops_env.client.tools import TOOL_PROMPT, OrbitalOpsTools
from orbital_ops_env.commands import Telecommand

trl: Any = pytest.importorskip("trl", reason="needs the training environment")
datasets: Any = pytest.importorskip("datasets")
transformers: Any = pytest.importorskip("transformers")

KINDS = {kind.model_fields["command"].default: kind for kind in get_args(Telecommand)}
ROW: dict[str, Any] = {"family": "detumble-v0", "level": 0, "seed": 1}
Call = tuple[str, dict[str, Any]]
COAST: Call = ("coast", {"duration_s": 30})
SAID: list[list[Call]] = [
    [("detumble", {"rate_deg_s": 0.1}), ("slew", {"target": "SIRIUS", "rate_deg_s": 0.5}), COAST],
    [("coast", {"duration_s": 31}), ("end_mission", {}), COAST],
]
"""What two members of a group call: one succeeds, one gives up; both go on after the end."""


@pytest.fixture
def tokenizer(tiny: Path) -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    tokenizer.chat_template = trl.chat_template_utils.qwen2_5_chat_template
    return tokenizer


@pytest.fixture
def make(
    url: str, tiny: Path, tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Makes a trainer of the tiny model."""
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")

    def make(*reward_funcs: Callable[..., list[float]], **options: Any) -> Any:
        prompt = [{"role": "system", "content": TOOL_PROMPT}, {"role": "user", "content": ""}]
        fixed: dict[str, Any] = {
            "output_dir": str(tmp_path),
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
            "max_steps": 1,
            "per_device_train_batch_size": 2,
            "num_generations": 2,
            "max_completion_length": 4096,
            "logging_steps": 1,
            "save_strategy": "no",
            "report_to": "none",
            "disable_tqdm": True,
        }
        return trl.GRPOTrainer(
            model=str(tiny),
            args=trl.GRPOConfig(**fixed | options),
            train_dataset=datasets.Dataset.from_list([ROW | {"prompt": prompt}] * 2),
            processing_class=tokenizer,
            reward_funcs=list(reward_funcs),
            environment_factory=partial(OrbitalOpsTools, url),
        )

    return make


def fly(url: str, calls: list[Call]) -> tuple[list[str], float | None]:
    """What the calls are answered, as TRL writes it, and the return."""
    texts: list[str] = []
    with OrbitalOpsTools(url) as tools:
        tools.reset(**ROW)
        for name, arguments in calls:
            try:
                texts.append(getattr(tools, name)(**arguments))
            except RuntimeError as error:
                texts.append(str({"error": str(error)}))
        return texts, tools.get_reward()


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in vars(OrbitalOpsTools)
        if not name.startswith("_") and name not in ("reset", "get_reward")
    ],
)
def test_the_schema_has_the_menus_of_the_telecommand(name: str) -> None:
    schema = transformers.utils.get_json_schema(getattr(OrbitalOpsTools, name))["function"]
    expected = KINDS[name].model_json_schema()
    properties = schema["parameters"]["properties"]
    assert schema["name"] == name
    assert schema["description"] == inspect.getdoc(KINDS[name])
    assert schema["parameters"].get("required", []) == expected.get("required", [])
    assert set(properties) == set(expected["properties"]) - {"command"}
    for argument, found in properties.items():
        assert found.get("enum") == expected["properties"][argument].get("enum")
        assert found["description"]
        assert found["type"] in ("string", "number", "integer")


def test_a_step_with_the_models_own_replies(make: Callable[..., Any]) -> None:
    trainer = make(generation_kwargs={"max_new_tokens": 8})
    trainer.train()
    log = trainer.state.log_history[0]
    assert log["rewards/OrbitalOpsTools/mean"] == 0.0
    assert log["tools/call_frequency"] == 0.0


def test_a_step_with_replies_that_call_tools(
    make: Callable[..., Any], url: str, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: dict[str, Any] = {}

    def listen(**told: Any) -> list[float]:
        heard.update(told)
        return [0.0] * len(told["completions"])

    trainer = make(listen)
    turns = iter([*zip(*SAID, strict=True), (None, None)])
    sampled: list[int] = []

    def say(*_: Any, **__: Any) -> tuple[list[list[int]], None]:
        replies = [list(tokenizer(_written(call))["input_ids"]) for call in next(turns)]
        sampled.extend(len(reply) for reply in replies)
        return replies, None

    monkeypatch.setattr(trainer, "_generate_single_turn", say)
    trainer.train()
    flown = [fly(url, calls) for calls in SAID]
    answers = [[m["content"] for m in c if m["role"] == "tool"] for c in heard["completions"]]
    assert answers == [texts for texts, _ in flown]
    assert heard["prompts"][0][-1]["content"].startswith("MISSION detumble-v0 level 0:")
    assert [env.outcome for env in heard["environments"]] == ["succeeded", "ended"]
    returns = [env.get_reward() for env in heard["environments"]]
    assert returns == [return_ for _, return_ in flown]
    log = trainer.state.log_history[0]
    assert log["rewards/OrbitalOpsTools/mean"] == pytest.approx(sum(returns) / len(returns))
    assert log["completions/mean_length"] == sum(sampled) / len(SAID)  # only what was sampled is trained
    assert log["tools/call_frequency"] == 3.0
    assert log["tools/failure_frequency"] == pytest.approx(1 / 3)  # the calls after the end
    assert log["grad_norm"] > 0


def _written(call: Call | None) -> str:
    if call is None:
        return "Done.<|im_end|>"
    name, arguments = call
    said = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{said}\n</tool_call><|im_end|>"
