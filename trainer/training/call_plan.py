"""How many updates each call of the compiled function makes: none across a step with an event."""

from collections.abc import Iterator
from typing import NamedTuple

import tensorflow as tf

from trainer.config import TrainingConfig

_UPDATES_PER_CALL_ON_GPUS = 10


class Call(NamedTuple):
    """One call of the compiled function.

    updates: how many it makes.
    at_event: whether something is logged, evaluated or saved after the last one.
    """

    updates: int
    at_event: bool


def plan_calls(first_step: int, config: TrainingConfig) -> Iterator[Call]:
    """Yields the calls from `first_step` to the end of training.

    A call ends at each event and after `steps_per_call` updates.

    Example:
        >>> config = TrainingConfig(train_steps=7, log_every_steps=5, steps_per_call=3)
        >>> [call.updates for call in plan_calls(0, config)]
        [3, 2, 2]
    """
    most, step = choose_steps_per_call(config), first_step
    while step < config.train_steps:
        end = step + 1
        while end < step + most and not _is_event(end, config):
            end += 1
        yield Call(end - step, _is_event(end, config))
        step = end


def choose_steps_per_call(config: TrainingConfig) -> int:
    """Returns the most updates of a call: as configured, or as suits the devices."""
    on_gpus = bool(tf.config.list_logical_devices("GPU"))
    return config.steps_per_call or (_UPDATES_PER_CALL_ON_GPUS if on_gpus else 1)


def _is_event(step: int, config: TrainingConfig) -> bool:
    intervals = (config.log_every_steps, config.eval_every_steps, config.checkpoint_every_steps)
    return step == config.train_steps or any(n and step % n == 0 for n in intervals)
