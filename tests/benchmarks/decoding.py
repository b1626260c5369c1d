"""Decoding speed beside other systems: the same sentences, lengths and two cores.

    python -m tests.benchmarks.decoding --work_dir=/tmp/benchmark --output=decoding.json

Untrained models translate Multi30k's test_2016_flickr into 16 tokens per sentence, so that all take
the same number of steps. Ours and CTranslate2 share the weights and translate text to text;
OpenNMT-py, timed by its own report, subwords to subwords. `--run_dir` takes a trained model and its
own lengths instead, without OpenNMT-py. Also measures single sentences, time by length, and memory
over many sentences. Requires `pip install '.[ctranslate2]'`; the first use creates the environment
of OpenNMT-py in `--work_dir`, which may be deleted afterwards.
"""

import argparse
import functools
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks import rivals
from tests.benchmarks.measure import resident_memory
from tests.benchmarks.record import output_flag, write_record
from tests.benchmarks.rivals import opennmt_py
from tests.benchmarks.translation_times import compare, show, time_alone, time_by_length, timed
from tests.benchmarks.workload import SIZES, THREADS, Workload, prepare, some_of
from trainer.runtime.startup import start_tensorflow

if TYPE_CHECKING:
    from tests.benchmarks.engines import Setup

SEARCHES = {"greedy": 1, "beam 4": 4}  # beam sizes
LENGTH = 16  # tokens of every translation
LENGTHS = (32, 64, 128, 256)
ALONE = 200  # sentences translated one by one
TOGETHER = 64  # sentences translated to each length
SENTENCES_BETWEEN_LOOKS = 1_000  # at memory


def main() -> None:
    """Measures, prints tables, writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work_dir", type=Path, required=True)
    output_flag(parser, "decoding")
    parser.add_argument("--sizes", type=some_of(SIZES), default=list(SIZES))
    parser.add_argument("--run_dir", type=Path, help="a trained run, instead of --sizes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory_sentences", type=int, default=100_000)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    workload = prepare(arguments.work_dir)
    start_tensorflow(for_search=True)  # as `trainer.translate` does
    models: dict[str, object] = {}
    results: dict[str, object] = {"models": models}
    if arguments.run_dir:
        models["trained"] = measure_trained(arguments.run_dir, workload, arguments.rounds)
    else:
        for name in arguments.sizes:
            models[name] = measure_untrained(name, workload, arguments.rounds)
            write_record("decoding", arguments, results)
    if arguments.memory_sentences:
        results["memory_mib"] = watch_memory(workload, arguments.memory_sentences)
    write_record("decoding", arguments, results)


def measure_trained(run_dir: Path, workload: Workload, rounds: int) -> dict[str, object]:
    """Compares the systems that take a run's weights, at the model's own lengths."""
    from tests.benchmarks import engines

    folder, sentences = new_folder(workload, "trained"), workload.test_sentences("source")
    trained = functools.partial(engines.trained, run_dir)
    setup = trained()
    results: dict[str, object] = {}
    for search, beam_size in SEARCHES.items():
        title = f"trained, {search}"
        translators = engines.make_all(setup, beam_size, folder)
        results[search] = {
            "sentences": len(sentences),
            "seconds": compare(title, timed(translators, sentences), sentences, rounds),
            "alone_milliseconds": time_alone(title, translators, sentences[:ALONE]),
            "microseconds_per_token": by_length(title, trained, beam_size, folder, sentences),
        }
    return results


def measure_untrained(name: str, workload: Workload, rounds: int) -> dict[str, object]:
    """Compares all systems on untrained models of one size, at fixed lengths."""
    from tests.benchmarks import engines

    folder, sentences = new_folder(workload, name), workload.test_sentences("source")
    untrained = functools.partial(engines.untrained, SIZES[name], workload, folder / "run")
    setup = untrained(LENGTH)
    results: dict[str, object] = {}
    environment = rivals.environment("torch", workload.dataset.parent)
    model = opennmt_py.make_model(environment, workload, SIZES[name], folder)
    for search, beam_size in SEARCHES.items():
        title = f"{name}, {search}"
        translators = engines.make_all(setup, beam_size, folder)
        contenders = timed(translators, sentences)
        contenders["OpenNMT-py"] = functools.partial(
            opennmt_py.translation_seconds,
            environment,
            model,
            workload,
            beam_size=beam_size,
            length=LENGTH,
        )
        results[search] = {
            "sentences": len(sentences),
            "seconds": compare(title, contenders, sentences, rounds),
            "alone_milliseconds": time_alone(title, translators, sentences[:ALONE]),
            "microseconds_per_token": by_length(title, untrained, beam_size, folder, sentences),
        }
    return results


def by_length(
    title: str,
    model: Callable[[int], "Setup"],
    beam_size: int,
    folder: Path,
    sentences: list[str],
) -> dict[str, object]:
    """Times ours and CTranslate2 by the number of tokens of every translation."""
    from tests.benchmarks import engines

    models = {length: model(length) for length in (LENGTH, *LENGTHS)}
    translators = {
        "ours": {n: engines.in_process(setup, beam_size) for n, setup in models.items()},
        "CTranslate2, float32": {
            n: engines.ctranslate2(setup, beam_size, folder / str(n), "float32")
            for n, setup in models.items()
        },
    }
    return {
        name: time_by_length(f"{title}, {name}", by_number, sentences[:TOGETHER])
        for name, by_number in translators.items()
    }


def watch_memory(workload: Workload, number: int) -> dict[int, float]:
    """Prints and returns resident MiB by the number of sentences translated, drawn at random."""
    from tests.benchmarks import engines

    name = next(iter(SIZES))
    setup = engines.untrained(SIZES[name], workload, new_folder(workload, "memory") / "run", LENGTH)
    translate = engines.in_process(setup, beam_size=1)
    draw, sentences, results = random.Random(1706_03762), workload.test_sentences("source"), {}
    for done in range(SENTENCES_BETWEEN_LOOKS, number + 1, SENTENCES_BETWEEN_LOOKS):
        translate(draw.choices(sentences, k=SENTENCES_BETWEEN_LOOKS))
        results[done] = resident_memory()
    looks = [done for done in (1_000, 10_000, max(results)) if done in results]
    rows = [["sentences", "MiB"], *([f"{done:,}", f"{results[done]:,.0f}"] for done in looks)]
    show(f"{name}, greedy, memory of one process", rows)
    return results


def new_folder(workload: Workload, name: str) -> Path:
    """Returns an empty folder."""
    folder = workload.dataset.parent / "decoding" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


if __name__ == "__main__":
    main()
