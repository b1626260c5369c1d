"""Processor time of one sentence by SavedModels of the same weights, such as of two commits.

    python -m tests.benchmarks.sentence_latency --output=latency.json \
        --saved_model before=exported/1 --saved_model after=exported/2

One thread; the models translate in alternation, sentences alone and 64 together. Processor time is
hardly disturbed by other work on the machine, and the number of operations not at all.
"""

import argparse
import itertools
import os
import resource
from pathlib import Path
from typing import Any

from pipeline.corpora.builtin.corpus import generate_pairs
from tests.benchmarks.record import output_flag, write_record

ALONE = 3  # sentences, each by itself
TOGETHER = 64


def main() -> None:
    """Measures, prints and writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--saved_model", action="append", required=True, help="NAME=DIRECTORY")
    parser.add_argument("--rounds", type=int, default=25)
    output_flag(parser, "sentence_latency")
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    models = dict(named.split("=", 1) for named in arguments.saved_model)
    arguments.saved_model = list(models)  # the record has no paths
    results = measure(models, arguments.rounds)
    write_record("sentence_latency", arguments, {"models": results})
    print(results)


def measure(directories: dict[str, str], rounds: int) -> dict[str, dict[str, Any]]:
    """Returns operations, and milliseconds of processor time of every round, by model."""
    sentences = [source for source, _ in itertools.islice(generate_pairs("test"), TOGETHER)]
    requests = {"alone": [[each] for each in sentences[:ALONE]], "together": [sentences]}
    models = {name: Model(directory) for name, directory in directories.items()}
    results: dict[str, dict[str, Any]] = {}
    for name, model in models.items():
        for texts in itertools.chain(*requests.values()):
            model.translate(texts)  # the first time prepares
        operations = model.count_operations(sentences[:1])
        results[name] = {"operations": operations, "alone": [], "together": []}
    for _, kind in itertools.product(range(rounds), requests):
        for name, model in models.items():
            start = processor_milliseconds()
            for texts in requests[kind]:
                model.translate(texts)
            taken = processor_milliseconds() - start
            results[name][kind].append(taken / len(requests[kind]))
    return results


class Model:
    """A SavedModel in a session of one thread."""

    def __init__(self, directory: str) -> None:
        """Loads the model."""
        import tensorflow as tf
        import tensorflow_text  # noqa: F401 registers the ops

        v1 = tf.compat.v1
        self._v1 = v1
        with tf.Graph().as_default() as graph:
            threads = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
            self._session = v1.Session(graph=graph, config=threads)
            loaded = v1.saved_model.load(self._session, ["serve"], str(Path(directory)))
            signature = loaded.signature_def["serving_default"]
            self._text = signature.inputs["text"].name
            self._outputs = [output.name for output in signature.outputs.values()]

    def translate(self, texts: list[str], **options: Any) -> None:
        """Translates sentences."""
        self._session.run(self._outputs, {self._text: texts}, **options)

    def count_operations(self, texts: list[str]) -> int:
        """Counts the operations that run, each time that they run."""
        metadata = self._v1.RunMetadata()
        traced = self._v1.RunOptions(trace_level=self._v1.RunOptions.FULL_TRACE)
        self.translate(texts, options=traced, run_metadata=metadata)
        return sum(len(device.node_stats) for device in metadata.step_stats.dev_stats)


def processor_milliseconds() -> float:
    """Returns the processor time of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return 1e3 * (usage.ru_utime + usage.ru_stime)


if __name__ == "__main__":
    main()
