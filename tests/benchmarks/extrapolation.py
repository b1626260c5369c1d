"""BLEU on sentences longer than those of training, with sinusoidal and with learned positions.

    python -m tests.benchmarks.extrapolation --work_dir=runs/extrapolation \\
        --output=tests/benchmarks/results/extrapolation.json

The paper hopes that sinusoids extrapolate to longer sentences (§3.5). Models are trained on the
pairs of Multi30k English–German of at most L subwords on either side, and translate all of dev and
test; BLEU is given by the length of the source, up to 2 L. Learned positions beyond the last share
its vector (`--max_positions` = L), or are vectors that training never used (2 L). When stopped, the
same command resumes: runs from their last checkpoint, without the results in `--output`.
"""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import sacrebleu

from pipeline.common.tables import format_table
from pipeline.dataset.schema import load_dataset
from pipeline.subwords.encoding import load_subwords
from tests.benchmarks.record import output_flag, write_record
from tests.benchmarks.runs import evaluate, train
from tests.benchmarks.workload import preprocess

LONGEST = 16  # L, subwords with the end symbol
BOUNDS = (8, 16, 20, 24, 32)  # of the source, subwords
VOCABULARY_SIZE = 8_000
POSITIONS: Mapping[str, Mapping[str, object]] = {
    "sinusoidal": {"positions": "sinusoidal"},
    "learned, the last shared": {"positions": "learned", "max_positions": LONGEST},
    "learned, the others untrained": {"positions": "learned", "max_positions": 2 * LONGEST},
}


class Translated(NamedTuple):
    """A translated sentence, with the subwords of its source."""

    length: int
    translation: str
    reference: str


def main() -> None:
    """Trains and translates what is missing, prints the table, writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--updates", type=int, default=2_600)
    output_flag(parser, "extrapolation")
    arguments = parser.parse_args()
    output: Path = arguments.output
    results: dict[str, Any] = json.loads(output.read_text())["results"] if output.exists() else {}
    dataset = arguments.work_dir / "data"
    preprocess(dataset, {"vocabulary_size": VOCABULARY_SIZE, "max_length": LONGEST})
    for name, flags in POSITIONS.items():
        if name not in results:
            run_dir = arguments.work_dir / "runs" / str(len(results))
            results[name] = measure(flags, dataset, run_dir, arguments.updates)
            write_record("extrapolation", arguments, results)
    print(format_results(results))


def measure(
    flags: Mapping[str, object], dataset: Path, run_dir: Path, updates: int
) -> list[dict[str, float]]:
    """Trains a model, or resumes it, and returns BLEU by length on dev and test together."""
    places = {"dataset_dir": dataset, "run_dir": run_dir, "train_steps": updates}
    train("configs/multi30k.flags", {**places, "eval_every_steps": 0, **flags})
    evaluate(run_dir, "dev", "test")
    return score_by_length(read_translated(dataset, run_dir, ("dev", "test")))


def read_translated(dataset_dir: Path, run_dir: Path, splits: Iterable[str]) -> list[Translated]:
    """Reads the translations that `trainer.evaluate` wrote."""
    dataset = load_dataset(dataset_dir)
    subwords = load_subwords(dataset.path(dataset.vocabularies["source"].path))
    rows = [
        json.loads(line)
        for split in splits
        for line in (run_dir / f"evaluation-{split}.jsonl").read_text().splitlines()
    ]
    encoded = subwords.encode([row["source"] for row in rows])
    return [
        Translated(len(ids) + 1, row["translation"], row["reference"])
        for ids, row in zip(encoded, rows, strict=True)
    ]


def score_by_length(rows: Sequence[Translated]) -> list[dict[str, float]]:
    """Returns for each bin of lengths its bound, sentences, BLEU, and length beside references.

    The length is that of all translations to that of all references, in sacreBLEU's tokens.
    """
    bins = []
    for below, bound in zip((0, *BOUNDS), BOUNDS, strict=False):
        chosen = [row for row in rows if below < row.length <= bound]
        if chosen:
            bleu = sacrebleu.corpus_bleu(
                [row.translation for row in chosen], [[row.reference for row in chosen]]
            )
            ratio = bleu.sys_len / bleu.ref_len
            bins.append(
                {"longest": bound, "sentences": len(chosen), "bleu": bleu.score, "ratio": ratio}
            )
    return bins


def format_results(results: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Returns BLEU by length of each kind of positions."""
    (first, *_) = results.values()
    rows = [["subwords of the source, up to", *(f"{b['longest']}" for b in first)]]
    rows.append(["sentences", *(f"{b['sentences']}" for b in first)])
    rows += [[name, *(f"{b['bleu']:.1f}" for b in bins)] for name, bins in results.items()]
    return "\n".join(format_table(rows))


if __name__ == "__main__":
    main()
