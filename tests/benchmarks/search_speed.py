"""Translates in a loop with fresh weights and prints sentences per second.

    python -m tests.benchmarks.search_speed --work_dir=/tmp/benchmark --size=small --beam_size=4

A command to be compared with itself by tests.benchmarks.optimisations.
"""

import argparse
import itertools
import tempfile
from pathlib import Path

from tests.benchmarks.translation_times import seconds
from tests.benchmarks.workload import SIZES, prepare
from trainer.runtime import startup

LENGTH = 16  # tokens of every translation
SENTENCES = 256


def main() -> None:
    """Translates until it is stopped."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--beam_size", type=int, default=4)
    arguments = parser.parse_args()
    workload = prepare(arguments.work_dir)
    startup.start_tensorflow(for_search=True)
    from tests.benchmarks import engines

    with tempfile.TemporaryDirectory() as folder:
        setup = engines.untrained(SIZES[arguments.size], workload, Path(folder, "run"), LENGTH)
        translate = engines.in_process(setup, arguments.beam_size)
        sentences = itertools.cycle(workload.test_sentences("source"))
        while True:
            batch = list(itertools.islice(sentences, SENTENCES))
            print(f"{SENTENCES / seconds(translate, batch):.1f} sentences/s", flush=True)


if __name__ == "__main__":
    main()
