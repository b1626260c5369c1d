"""Table 1 of the paper, measured: layers of d_model 512 over sentences of 16 to 4,096 tokens.

    python -m tests.benchmarks.layer_types --output=tests/benchmarks/results/layer_types.json

Self-attention, the same restricted to a window of r positions, an LSTM and a convolution of width
k, each forward, alone, on one sentence. Time is the processor time of one thread, the least of the
rounds, so other work on the machine hardly changes it; memory is what a call adds to the process at
its peak; operations are counted from the equations, an addition and a multiplication being two.
"""

import argparse
import ctypes
import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from model.config import TransformerConfig
from pipeline.common.tables import format_table
from tests.benchmarks.record import output_flag, write_record
from trainer.runtime.startup import start_tensorflow

MODEL_DIM, NUM_HEADS = 512, 8
WINDOW, KERNEL = 65, 3  # r and k of Table 1
LENGTHS = tuple(2**power for power in range(4, 13))
LONG = 512  # exponents are fitted from this length on
_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h


class LayerType(NamedTuple):
    """A row of Table 1.

    complexity, sequential, path: the paper's, per layer.
    operations: of n tokens, counted.
    exponent: of n in the paper's complexity.
    """

    complexity: str
    sequential: str
    path: str
    operations: Callable[[int], int]
    exponent: int


def _projections(outputs: int) -> int:
    """Operations per token of `outputs` matrices of d · d."""
    return 2 * outputs * MODEL_DIM**2


LAYER_TYPES = {
    "self-attention": LayerType(
        "O(n² d)", "O(1)", "O(1)", lambda n: n * (_projections(4) + 4 * n * MODEL_DIM), 2
    ),
    "self-attention, restricted": LayerType(
        "O(r n d)", "O(1)", "O(n / r)", lambda n: n * (_projections(4) + 4 * WINDOW * MODEL_DIM), 1
    ),
    "recurrent": LayerType("O(n d²)", "O(n)", "O(n)", lambda n: n * _projections(8), 1),
    "convolutional": LayerType(
        "O(k n d²)", "O(1)", "O(n / k)", lambda n: n * _projections(KERNEL), 1
    ),
}


def sequential_operations(name: str, length: int) -> int:
    """Returns how many operations of a layer must follow one another: steps of the recurrence."""
    return length if name == "recurrent" else 1


def longest_path(name: str, length: int) -> int:
    """Returns the most steps between an input and an output: layers, or steps of the recurrence.

    A layer of a window of r positions reaches (r - 1) / 2 of them to either side.
    """
    reach = {
        "self-attention": length,
        "self-attention, restricted": WINDOW // 2,
        "recurrent": 1,
        "convolutional": KERNEL // 2,
    }[name]
    steps = length if name == "recurrent" else math.ceil((length - 1) / reach)
    return max(steps, 1)


def main() -> None:
    """Measures, prints the table, writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--longest", type=int, default=LENGTHS[-1])
    output_flag(parser, "layer_types")
    arguments = parser.parse_args()
    os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["TF_NUM_INTEROP_THREADS"] = "1"
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # its allocator keeps what is freed
    ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)  # `malloc_trim` trims the end of the first arena alone
    start_tensorflow()
    layers = make_layers()
    lengths = [length for length in LENGTHS if length <= arguments.longest]
    entries = {
        name: {
            "lengths": {str(n): measure(layers[name], name, n, arguments.rounds) for n in lengths}
        }
        for name in LAYER_TYPES
    }
    results = {"model_dim": MODEL_DIM, "window": WINDOW, "kernel": KERNEL, "layers": entries}
    write_record("layer_types", arguments, results)
    print(format_results(entries))


def make_layers() -> dict[str, Callable[[Any], Any]]:
    """Returns the layers, functions of float32 `[1, n, d]`."""
    import keras
    import tensorflow as tf

    from model.attention import MultiHeadAttention
    from tests.benchmarks.window_attention import attend_within_window

    config = TransformerConfig(model_dim=MODEL_DIM, num_heads=NUM_HEADS)
    attention = MultiHeadAttention(config, "attention")
    attention.build()
    everything = tf.ones((1, 1, 1, 1), tf.bool)
    layers = {
        "self-attention": lambda x: attention(x, x, attention_mask=everything),
        "self-attention, restricted": lambda x: attend_within_window(attention, x, WINDOW),
        "recurrent": keras.layers.LSTM(MODEL_DIM, return_sequences=True),
        "convolutional": keras.layers.Conv1D(MODEL_DIM, KERNEL, padding="same"),
    }
    signature = [tf.TensorSpec((1, None, MODEL_DIM))]
    return {
        name: tf.function(layer, input_signature=signature, autograph=False)
        for name, layer in layers.items()
    }


def measure(layer: Callable[[Any], Any], name: str, length: int, rounds: int) -> dict[str, Any]:
    """Returns time, memory and counts of a layer over `length` tokens."""
    import tensorflow as tf

    x = tf.random.stateless_normal((1, length, MODEL_DIM), (1, 2))
    layer(x)  # traces, and fills caches
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        layer(x).numpy()
        seconds.append(time.process_time() - start)
    return {
        "seconds": seconds,
        "bytes": peak_bytes(lambda: layer(x)),
        "operations": LAYER_TYPES[name].operations(length),
        "sequential": sequential_operations(name, length),
        "path": longest_path(name, length),
    }


def peak_bytes(function: Callable[[], Any]) -> int:
    """Returns what a call adds to the peak of this process's resident memory (Linux, glibc)."""
    ctypes.CDLL(None).malloc_trim(0)  # returns what earlier calls have freed
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from what is resident now
    before = _resident("VmRSS")
    function()
    return max(_resident("VmHWM") - before, 0)


def fit_exponent(values: Mapping[str, float]) -> float | None:
    """Fits log(value) = exponent · log(n) + constant over the long lengths, by least squares."""
    points = [(math.log(int(n)), math.log(v)) for n, v in values.items() if int(n) >= LONG and v]
    if len(points) < 2:
        return None
    x_mean = sum(x for x, _ in points) / len(points)
    y_mean = sum(y for _, y in points) / len(points)
    covariance = sum((x - x_mean) * (y - y_mean) for x, y in points)
    return covariance / sum((x - x_mean) ** 2 for x, _ in points)


def format_results(entries: Mapping[str, Any]) -> str:
    """Returns seconds by length, and the exponents of time."""
    lengths = list(next(iter(entries.values()))["lengths"])
    rows = [["milliseconds", *lengths, "exponent"]]
    for name, entry in entries.items():
        times = least_seconds(entry)
        exponent = fit_exponent(times)
        figures = [f"{1e3 * seconds:.3g}" for seconds in times.values()]
        rows.append([name, *figures, "" if exponent is None else f"{exponent:.2f}"])
    return "\n".join(format_table(rows))


def least_seconds(entry: Mapping[str, Any]) -> dict[str, float]:
    """Returns the least time of the rounds by length."""
    return {n: min(measured["seconds"]) for n, measured in entry["lengths"].items()}


def _resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
