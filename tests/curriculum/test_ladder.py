"""The ladder, group by group."""

from collections.abc import Sequence

import pytest

from orbital_ops_env.curriculum.ladder import Ladder
from orbital_ops_env.curriculum.presets import Preset

PRESET = Preset(kind="ladder", window=3)


def after(level: int, heard: Sequence[tuple[int, float]]) -> int:
    ladder = Ladder(PRESET, level)
    for of_level, mean_return in heard:
        ladder.hear(of_level, mean_return)
    return ladder.level


@pytest.mark.parametrize(
    ("level", "heard", "told"),
    [
        (4, [(4, 0.31)] * 2, 4),
        (4, [(4, 0.31)] * 3, 5),
        (4, [(4, 0.30)] * 3, 4),
        (4, [(4, 0.10)] * 3, 4),
        (4, [(4, 0.09)] * 3, 3),
        (4, [(4, 0.0), (4, 0.0), (4, 0.36)], 4),
        (4, [(4, 0.0), (4, 0.2), (4, 0.3), (4, 0.5)], 5),
        (4, [(4, 0.31)] * 2 + [(3, 0.0)] * 9 + [(4, 0.31)], 5),
        (4, [(4, 0.31)] * 3 + [(5, 0.0)] * 3, 4),
        (9, [(9, 1.0)] * 9, 9),
        (0, [(0, 0.0)] * 9, 0),
    ],
)
def test_the_level_goes_by_the_mean_of_the_last_groups_on_it(
    level: int, heard: Sequence[tuple[int, float]], told: int
) -> None:
    assert after(level, heard) == told
