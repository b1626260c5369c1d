"""Speed and memory of preprocessing on real text.

    python -m tests.benchmarks.preprocess --work_dir=/tmp/benchmark --output=preprocess.json

Compares, in alternation, whole runs on the Canadian Hansards with a plain script, and the encoding
stage with SentencePiece's own encoding; then measures a corpus ten times as large. Takes half an
hour and about 6 GB in `--work_dir`, which may be deleted afterwards.
"""

import argparse
import dataclasses
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import sentencepiece

from pipeline.blocks.encode_block import EncodeBlock, Encoding
from pipeline.blocks.heldout_text import write_heldout
from pipeline.blocks.pair_files import write_clean_pairs
from pipeline.cleaning import normalization
from pipeline.common.tables import format_table
from pipeline.corpora.blocks import Block
from pipeline.corpora.spans import Span
from pipeline.dataset.schema import load_dataset, read_lines
from tests.benchmarks import corpora
from tests.benchmarks.measure import Run, alternate, measure, medians
from tests.benchmarks.record import output_flag, write_record

VOCABULARY_SIZE = 37_000
BLOCK_PAIRS = 20_000
ENCODED_BLOCKS = 10


def main() -> None:
    """Measures, prints tables, writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work_dir", type=Path, required=True)
    output_flag(parser, "preprocess")
    parser.add_argument("--rounds", type=int, default=3, help="of comparisons on Hansard; 0: none")
    parser.add_argument("--large_pairs", type=int, default=4_500_000, help="0: no large corpus")
    arguments = parser.parse_args()
    work: Path = arguments.work_dir
    work.mkdir(parents=True, exist_ok=True)
    results: dict[str, object] = {}
    if arguments.rounds:
        results |= compare_on_hansard(work, arguments.rounds)
        write_record("preprocess", arguments, results)
    if arguments.large_pairs:
        scaled = measure_scale(work, arguments.large_pairs)
        show("English–French, resampled", scaled)
        results["resampled"] = {
            name: as_json([run], lines) for name, (run, lines) in scaled.items()
        }
        write_record("preprocess", arguments, results)


def compare_on_hansard(work: Path, rounds: int) -> dict[str, object]:
    """Prints and returns the comparison with a plain script and with SentencePiece."""
    texts = corpora.write(corpora.hansard(), work / "hansard")
    lines = 2 * count_lines(texts[0])
    contenders = {
        "pipeline, 1 worker": lambda: preprocess(work, texts, workers=1),
        "pipeline, 2 workers": lambda: preprocess(work, texts, workers=2),
        "plain script": lambda: run_plain_script(work, texts),
    }
    runs = alternate(contenders, rounds)
    encoding = compare_encoding(work, texts, rounds)
    figures = {name: (medians(measured), lines) for name, measured in runs.items()}
    show("Hansard, 468,007 pairs, medians", figures)
    return {
        "hansard": {name: as_json(measured, lines) for name, measured in runs.items()},
        "padding_efficiency": load_dataset(work / "dataset").padding_efficiency["total"],
        "encoding": encoding,
    }


def preprocess(work: Path, texts: list[Path], workers: int) -> Run:
    """Runs the whole command from the beginning."""
    output = work / "dataset"
    shutil.rmtree(output, ignore_errors=True)
    flags = {
        "runner": "DirectRunner",
        "source_files": texts[0],
        "target_files": texts[1],
        "target_language": "fr",
        "vocabulary_size": VOCABULARY_SIZE,
        "num_workers": workers,
        "output_dir": output,
    }
    arguments = [f"--{name}={value}" for name, value in flags.items()]
    return measure([sys.executable, "-m", "pipeline.preprocess", *arguments])


def run_plain_script(work: Path, texts: list[Path]) -> Run:
    """Runs the whole plain script."""
    script = [sys.executable, "-m", "tests.benchmarks.plain_script"]
    return measure([*script, *map(str, texts), str(work), str(VOCABULARY_SIZE)])


def compare_encoding(work: Path, texts: list[Path], rounds: int) -> dict[str, object]:
    """Measures the CPU seconds of our encoding stage and of SentencePiece, on one core.

    The stage reads clean pairs, sorts, encodes, packs and writes; SentencePiece only encodes.
    """
    dataset = load_dataset(work / "dataset")  # of the last whole run
    vocabulary = dataset.vocabularies["source"]  # and the target's
    model = dataset.path(vocabulary.path)
    folder = work / "encoding"
    folder.mkdir(exist_ok=True)
    shutil.copy(model, folder)
    sources, targets = (map(normalization.normalize, read_lines(path)) for path in texts)
    pairs = [pair for pair in zip(sources, targets, strict=True) if all(pair)]
    pairs = pairs[: ENCODED_BLOCKS * BLOCK_PAIRS]
    nowhere = Span("", 0, 0, "", 1)
    blocks = [Block("train", n, BLOCK_PAIRS, nowhere, nowhere) for n in range(ENCODED_BLOCKS)]
    for n, block in enumerate(blocks):
        part = pairs[n * BLOCK_PAIRS : (n + 1) * BLOCK_PAIRS]
        write_clean_pairs(str(folder), block.name, part)
    encoding = Encoding(str(folder), (vocabulary, vocabulary))
    nothing = write_heldout(str(folder / "heldout.tsv"), ())
    function = EncodeBlock(str(folder), str(folder))

    def encode() -> None:
        for block in blocks:
            function(block, encoding, dataset.bucket_shapes, nothing)

    processor = sentencepiece.SentencePieceProcessor(model_file=model)
    lines = [line for pair in pairs for line in pair]
    contenders: dict[str, Callable[[], float]] = {
        "encode and write, whole stage": lambda: cpu_seconds(encode),
        "SentencePiece's own encode": lambda: cpu_seconds(
            lambda: processor.encode(lines, num_threads=1)
        ),
    }
    seconds = alternate(contenders, rounds)
    for name, times in seconds.items():
        print(f"{name}: {len(lines) / statistics.median(times):,.0f} lines per CPU second")
    return {"lines": len(lines), "cpu_seconds": seconds}


def cpu_seconds(function: Callable[[], object]) -> float:
    """Returns the seconds of processor time that a call takes in this process."""
    start = time.process_time()
    function()
    return time.process_time() - start


def measure_scale(work: Path, large: int) -> dict[str, tuple[Run, int]]:
    """Runs a tenth of the large corpus, then the whole with one and with two workers."""
    results = {}
    for pairs, workers in ((large // 10, 2), (large, 2), (large, 1)):
        texts = corpora.write(
            corpora.resample(corpora.everything(), pairs), work / f"resampled-{pairs}"
        )
        run = preprocess(work, texts, workers)
        results[f"{pairs:,} pairs, {workers} worker(s)"] = run, 2 * pairs
        print(f"{pairs:,} pairs, {workers} worker(s): {run}", flush=True)
    return results


def show(title: str, runs: dict[str, tuple[Run, int]]) -> None:
    """Prints a table of whole runs, by name with their numbers of lines."""
    rows = [["", "wall s", "CPU s", "lines/s", "CPU µs/line", "largest process, MiB"]]
    for name, (run, lines) in runs.items():
        figures = (run.wall, run.cpu, lines / run.wall, 1e6 * run.cpu / lines, run.peak_memory)
        rows.append([name, *(f"{figure:,.1f}" for figure in figures)])
    print(f"\n{title}", *format_table(rows), sep="\n")


def as_json(runs: Sequence[Run], lines: int) -> dict[str, object]:
    """Returns the figures of every round, and the number of lines per round."""
    return {"lines": lines, "rounds": list(map(dataclasses.asdict, runs))}


def count_lines(path: Path) -> int:
    """Returns the lines of a text file."""
    with open(path, "rb") as file:
        return sum(1 for _ in file)


if __name__ == "__main__":
    main()
