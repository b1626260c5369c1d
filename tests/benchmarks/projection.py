"""What the paper's trainings take on GPUs, by our count of operations: arithmetic, not a run.

    python -m tests.benchmarks.projection --output=tests/benchmarks/results/projection.json

Counts the operations of an update (`trainer.training.flops`: matrix products alone) of 25,000
tokens per side in rows of 64 × 64, and the model's parameters.
"""

import argparse
from typing import Any

from tests.benchmarks.record import output_flag, write_record
from trainer.paper.flagfiles import read_flagfiles
from trainer.runtime.startup import start_tensorflow

VOCABULARY_SIZE = 37_000  # §5.1
ROW = 64  # tokens per side
FLAGFILES = {"base": "configs/base.flags", "big": "configs/big.flags"}


def main() -> None:
    """Counts, prints and writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    output_flag(parser, "projection")
    arguments = parser.parse_args()
    start_tensorflow()
    results = {name: count(path) for name, path in FLAGFILES.items()}
    write_record("projection", arguments, results)
    print(results)


def count(flagfile: str) -> dict[str, Any]:
    """Returns what training by a flagfile consists of."""
    from trainer.paper.parameter_counts import count_parameters
    from trainer.training.flops import update_flops

    experiment = read_flagfiles(flagfile)
    tokens, updates = experiment.training.tokens_per_batch, experiment.training.train_steps
    row = update_flops(experiment.transformer, VOCABULARY_SIZE, (1, ROW, ROW))
    return {
        "updates": updates,
        "tokens_per_update": 2 * tokens,
        "parameters": count_parameters(experiment.transformer, VOCABULARY_SIZE),
        "operations_per_update": row * tokens / ROW,
    }


if __name__ == "__main__":
    main()
