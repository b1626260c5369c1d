"""Runs a command of ours with one optimisation switched off, for tests.benchmarks.optimisations.

    python -m tests.benchmarks.switched NAME MODULE [--flag=value …]

NAME is a key of `SWITCHES`. The optimisations have no flags of their own: nobody should switch them
off.
"""

import dataclasses
import importlib
import runpy
import sys
from collections.abc import Callable
from typing import Any

from trainer.runtime import startup


@dataclasses.dataclass(frozen=True)
class Switch:
    """A function that is replaced by a plain one.

    module, name: of the function.
    plain: does the same without the optimisation.
    early: whether it is called before TensorFlow starts.
    """

    module: str
    name: str
    plain: Callable[..., Any]
    early: bool = False

    def turn_off(self) -> None:
        """Replaces the function.

        Raises:
            AttributeError: the module has none of that name.
        """
        module = importlib.import_module(self.module)
        getattr(module, self.name)
        setattr(module, self.name, self.plain)


def project_one_by_one(projections: Any, x: Any, num_heads: int) -> list[Any]:
    """Multiplies with queries', keys' and values' matrices one by one."""
    from model.kernels.linear import split_heads

    return [split_heads(projection(x), num_heads) for projection in projections]


def drop_by_32_bits(x: Any, rate: float, seed_generator: Any) -> Any:
    """Keras's dropout, which draws 32 random bits per element."""
    import keras

    return keras.random.dropout(x, rate, seed=seed_generator)


SWITCHES = {
    "whole_batches": Switch(
        "trainer.runtime.startup", "choose_parts_at_once", lambda training: 1, early=True
    ),
    "separate_projections": Switch("model.attention", "project_heads", project_one_by_one),
    "keras_dropout": Switch("model.sublayers", "dropout", drop_by_32_bits),
    "unpadded_weights": Switch("model.kernels.linear", "_append_columns", lambda weight: weight),
    "joined_rows": Switch("model.kernels.tensorflow_ops", "_goes_row_by_row", lambda x: False),
}


def main(name: str, module: str, *flags: str) -> None:
    """Switches the optimisation off and runs the command in this process."""
    switch = SWITCHES[name]
    if switch.early:
        switch.turn_off()
    else:
        startup.start_tensorflow = _then(switch.turn_off)
    sys.argv = [module, *flags]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _then(turn_off: Callable[[], None]) -> Callable[..., None]:
    """Returns a `start_tensorflow` that then switches: only after it may modules import Keras."""
    start = startup.start_tensorflow

    def start_and_switch(**arguments: Any) -> None:
        start(**arguments)
        turn_off()

    return start_and_switch


if __name__ == "__main__":
    main(*sys.argv[1:])
