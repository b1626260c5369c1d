"""Memory of an update of 25,000 tokens per side: by formula, and as XLA's compiled program has it.

    python -m tests.benchmarks.memory --output=tests/benchmarks/results/memory.json

The formula is `trainer.training.memory`. XLA's count is that of the program which it compiles for
this CPU, in float32, from the forward and the backward pass: it is compiled, not run, so it takes
little memory but minutes. It has no optimizer, so the formula is compared without it.
"""

import argparse
import os
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from model.config import TransformerConfig
from tests.benchmarks.record import output_flag, write_record
from trainer.config import TrainingConfig
from trainer.paper.flagfiles import read_flagfiles
from trainer.runtime.startup import start_tensorflow

VOCABULARY_SIZE = 37_000  # §5.1
TOKENS = 25_000
ROW = 256  # tokens per side of the longest rows, whose attention takes most memory
FLAGFILES = {"base": "configs/base.flags", "big": "configs/big.flags"}
_TOTAL = re.compile(r"^Total bytes used: (\d+)", re.MULTILINE)


class Case(NamedTuple):
    """One row of the table."""

    model: str
    precision: str
    devices: int


CASES = [
    Case(model, precision, devices)
    for model in FLAGFILES
    for precision in ("float32", "bfloat16")
    for devices in (1, 8)
]


def main() -> None:
    """Estimates, compiles, prints and writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="*", default=list(FLAGFILES), help="models to compile")
    output_flag(parser, "memory")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dump_programs(Path(folder))
        start_tensorflow()
        estimates = [measure(case, arguments.models, Path(folder)) for case in CASES]
    write_record("memory", arguments, {"estimates": estimates})
    print(*estimates, sep="\n")


def measure(case: Case, compiled_models: list[str], dump: Path) -> dict[str, Any]:
    """Returns the parts of the estimate, and for float32 XLA's count."""
    from trainer.paper.parameter_counts import count_parameters
    from trainer.training.memory import estimate_memory

    transformer = read_flagfiles(FLAGFILES[case.model]).transformer
    mixed = "none" if case.precision == "float32" else case.precision
    shape = (TOKENS // ROW // case.devices * case.devices, ROW, ROW)
    memory = estimate_memory(
        transformer,
        TrainingConfig(mixed_precision=mixed),  # type: ignore[arg-type]
        shape,
        parameters=count_parameters(transformer, VOCABULARY_SIZE),
        vocabulary_size=VOCABULARY_SIZE,
        replicas=case.devices,
    )
    entry = {**case._asdict(), "row": ROW, "bytes": memory._asdict()}
    if mixed == "none" and case.model in compiled_models:
        entry["estimated"] = memory.total - memory.optimizer
        entry["compiled"] = compiled_bytes(
            transformer, VOCABULARY_SIZE, (shape[0] // case.devices, ROW, ROW), dump
        )
    return entry


def dump_programs(folder: Path) -> None:
    """Has XLA describe its programs in a folder; call it before TensorFlow starts."""
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={folder} {os.environ.get('XLA_FLAGS', '')}"


def compiled_bytes(
    config: TransformerConfig, vocabulary_size: int, shape: tuple[int, int, int], dump: Path
) -> int:
    """Returns the bytes of weights, batch, gradients and temporaries of XLA's program.

    Args:
        config: the architecture.
        vocabulary_size: V.
        shape: rows, source length and target length of the batch, tokens.
        dump: folder of `dump_programs`.
    """
    import tensorflow as tf

    from model.transformer import Transformer
    from trainer.training.loss import cross_entropy

    transformer = Transformer(config, vocabulary_size)

    @tf.function(jit_compile=True, autograph=False)
    def differentiate(source: tf.Tensor, target: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            states = transformer.decode(source, target, training=True)
            matrix = transformer.embedding.matrix
            loss, _ = cross_entropy(states, matrix, target, label_smoothing=0.1)
        gradients = tape.gradient(loss, transformer.trainable_variables)
        return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]

    rows, source, target = shape
    seen = set(dump.iterdir())
    specs = [tf.TensorSpec((rows, length), tf.int32) for length in (source, target)]
    differentiate.experimental_get_compiler_ir(*specs)(stage="optimized_hlo")
    reports = [path for path in dump.glob("*memory-usage-report.txt") if path not in seen]
    totals = [_TOTAL.search(path.read_text()) for path in reports]
    return max(int(total[1]) for total in totals if total)


if __name__ == "__main__":
    main()
