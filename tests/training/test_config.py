"""The numbers of a run and the specification's."""

from dataclasses import fields
from typing import Any

import pytest

from orbital_ops_env.training.config import SPECIFICATION, TrainingConfig, table


def test_every_specified_value_is_one_of_ours_and_a_difference_has_a_reason() -> None:
    ours = {each.name: getattr(TrainingConfig(), each.name) for each in fields(TrainingConfig)}
    assert SPECIFICATION.keys() <= ours.keys()
    for name, specified in SPECIFICATION.items():
        if isinstance(specified.value, float | int):
            assert (specified.value == ours[name]) == (not specified.why), name


def test_the_table_has_a_row_for_every_value() -> None:
    assert len(table().splitlines()) == 2 + len(fields(TrainingConfig))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"backend": "vllm"}, "no backend 'vllm': expected 'unsloth'"),
        (
            {"groups": 3, "group_size": 8, "micro_batch": 16},
            "does not divide the 24 episodes of 3 groups of 8",
        ),
        ({"sft_batch": 32, "sft_micro_batch": 12}, "sft_micro_batch=12 does not divide 32"),
    ],
)
def test_values_that_do_not_fit_together_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**values)
