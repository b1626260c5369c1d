from typing import Any

import pytest

from trainer.config import TrainingConfig
from trainer.training.call_plan import plan_calls

TWO_EVENTS = {"steps_per_call": 9, "eval_every_steps": 4, "checkpoint_every_steps": 6}


@pytest.mark.parametrize(
    ("first_step", "settings", "updates", "events"),
    [
        (0, {"steps_per_call": 3}, [3, 3, 1], [7]),
        (0, {"steps_per_call": 9}, [7], [7]),
        (0, {"steps_per_call": 3, "log_every_steps": 5}, [3, 2, 2], [5, 7]),
        (4, {"steps_per_call": 3, "log_every_steps": 5}, [1, 2], [5, 7]),
        (0, TWO_EVENTS, [4, 2, 1], [4, 6, 7]),
        (0, {}, [1] * 7, [7]),  # by default, without GPUs
        (7, {}, [], []),
    ],
)
def test_a_call_ends_where_something_happens(
    first_step: int, settings: dict[str, Any], updates: list[int], events: list[int]
) -> None:
    calls = list(plan_calls(first_step, TrainingConfig(train_steps=7, **settings)))
    ends, step = [], first_step
    for call in calls:
        step += call.updates
        if call.at_event:
            ends.append(step)
    assert [call.updates for call in calls] == updates
    assert ends == events
