"""What an operator needs to choose by: size, memory and first request of exported models.

    python -m tests.benchmarks.small_machines --work_dir=/tmp/benchmark --run_dir=runs/demo \
        --output=tests/benchmarks/results/small_machines.json

Each export is loaded in a process of its own, as a program without this repository loads it, with
one thread: a trained run, then untrained models of other sizes that must write 16 tokens. Requires
`pip install '.[ctranslate2]'`.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.measure import peak_memory, resident_memory
from tests.benchmarks.record import output_flag, write_record
from tests.benchmarks.workload import SIZES, VOCABULARY_SIZE, Size, Workload, preprocess
from trainer.runtime.startup import start_tensorflow

if TYPE_CHECKING:
    from tests.benchmarks.engines import Setup

LENGTH = 16  # tokens of an untrained model's translations
SENTENCES = 100
FORMATS = ("saved_model float32", "saved_model bfloat16", "ctranslate2 int8")
UNTRAINED = {"tiny": SIZES["tiny"], "base": Size(6, 512, 2048, 8, 0)}


def main() -> None:
    """Exports, measures, prints and writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--run_dir", type=Path, help="a trained run")
    parser.add_argument("--measure", nargs=2, help="a format and a directory, in a child process")
    output_flag(parser, "small_machines")
    arguments = parser.parse_args()
    if arguments.measure:
        form, directory = arguments.measure
        print(json.dumps(measure(form, directory, arguments.work_dir)))
        return
    workload = Workload(arguments.work_dir / "multi30k", arguments.work_dir / "pieces")
    preprocess(workload.dataset, {"vocabulary_size": VOCABULARY_SIZE})
    folder = arguments.work_dir / "small_machines"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    sentences = folder / "sentences.txt"
    sentences.write_text("\n".join(workload.test_sentences("source")[:SENTENCES]))
    models = {}
    for name, make in setups(arguments.run_dir, workload, folder).items():
        models[name] = measure_formats(make(), folder / name, sentences)
        write_record("small_machines", arguments, {"models": models})
        print(name, models[name], flush=True)


def setups(
    run_dir: Path | None, workload: Workload, folder: Path
) -> "dict[str, Callable[[], Setup]]":
    """Returns makers of models: a trained run's, then untrained ones."""
    start_tensorflow(for_search=True)
    from tests.benchmarks import engines

    makers: dict[str, Callable[[], Setup]] = {}
    if run_dir:
        makers[run_dir.name] = lambda: engines.trained(run_dir)
    for name, size in UNTRAINED.items():
        makers[name] = lambda name=name, size=size: engines.untrained(  # type: ignore[misc]
            size, workload, folder / f"run-{name}", LENGTH
        )
    return makers


def measure_formats(setup: "Setup", folder: Path, sentences: Path) -> dict[str, Any]:
    """Exports a model in every format, and measures each in a process of its own."""
    from tests.benchmarks import engines

    results = {}
    for form in FORMATS:
        kind, weights = form.split()
        directory = folder / form.replace(" ", "-")
        if kind == "ctranslate2":
            engines.export_ctranslate2(setup, directory, weights)
        else:
            engines.export_saved_model(setup, directory, weights)
        size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
        command = [sys.executable, "-m", __spec__.name, f"--work_dir={sentences}"]
        environment = {**os.environ, "TF_NUM_INTRAOP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        child = subprocess.run(
            [*command, "--measure", form, str(directory)],
            env=environment, check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        results[form] = {"bytes": size, **json.loads(child.stdout.splitlines()[-1])}
    return results


def measure(form: str, directory: str, sentences: Path) -> dict[str, Any]:
    """Loads an export and translates sentences one at a time; returns memory and times."""
    start = time.monotonic()
    translate = load_ctranslate2(directory) if "ctranslate2" in form else load_tensorflow(directory)
    loaded = time.monotonic()
    at_rest = resident_memory()
    times = []
    for sentence in sentences.read_text("utf-8").split("\n"):
        begun = time.monotonic()
        translate(sentence)
        times.append(1e3 * (time.monotonic() - begun))
    first, *others = times
    cuts = statistics.quantiles(others, n=20)
    return {
        "load_seconds": loaded - start,
        "first_milliseconds": first,
        "p50_milliseconds": cuts[9],
        "p95_milliseconds": cuts[18],
        "at_rest_mib": at_rest,
        "peak_mib": peak_memory(os.getpid()),
    }


def load_tensorflow(directory: str) -> Callable[[str], Any]:
    """Loads a SavedModel as README shows it."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 registers the ops

    model = tf.saved_model.load(directory)
    return lambda sentence: model.signatures["serving_default"](text=tf.constant([sentence]))


def load_ctranslate2(directory: str) -> Callable[[str], Any]:
    """Loads an export for CTranslate2 as serving/README.md shows it."""
    import ctranslate2
    import sentencepiece

    subwords = sentencepiece.SentencePieceProcessor(model_file=f"{directory}/subwords.model")
    translator = ctranslate2.Translator(directory, inter_threads=1, intra_threads=1)
    fixed = Path(directory, "length.json")
    lengths = json.loads(fixed.read_text()) if fixed.exists() else {}
    return lambda sentence: translator.translate_batch(
        [subwords.encode(sentence, out_type=str)],
        beam_size=4,
        length_penalty=0.6,
        suppress_sequences=[["<pad>"]],
        **lengths,
    )


if __name__ == "__main__":
    main()
