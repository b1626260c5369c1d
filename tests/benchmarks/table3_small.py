"""Table 3 in small: all rows, of a quarter of the width, on Multi30k English–German.

    python -m tests.benchmarks.table3_small --work_dir=runs/table3_small \\
        --output=tests/benchmarks/results/table3_small.json

Every row changes what the paper's row changes; d_model, d_ff, d_k and d_v are divided by 4. Base
has two seeds, whose difference is the noise. The last 5 of 20 checkpoints are averaged. Scores are
of dev, as in the paper: perplexity per subword, accuracy of the next subword, BLEU. When stopped,
the same command resumes: runs from their last checkpoint, without the rows in `--output`.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.common.tables import format_table
from pipeline.dataset.schema import load_dataset
from tests.benchmarks.record import output_flag, write_record
from tests.benchmarks.runs import evaluate, train
from tests.benchmarks.workload import preprocess, some_of
from trainer.paper.flagfiles import read_flagfiles
from trainer.paper.results import BASE, TABLE_3, PaperRow
from trainer.runs.run_directory import load_run
from trainer.runs.trained_model import TrainedModel
from trainer.runtime.startup import start_tensorflow

DIVISOR = 4
SCALED = ("model_dim", "feed_forward_dim", "key_dim", "value_dim")
OTHERS = ("num_layers", "num_heads", "dropout", "positions", "label_smoothing")
CHECKPOINTS, VOCABULARY_SIZE = 20, 8_000
TRAINING = {
    "tokens_per_batch": 4_096,
    "warmup_steps": 1_000,
    "learning_rate_scale": 1.5,
    "eval_every_steps": 0,
    "keep_checkpoints": 5,
    "average_checkpoints": 5,
}


class SmallRow(NamedTuple):
    """A row of the paper and its small form.

    name: of the run.
    flags: the whole architecture and regularization, and the seed.
    updates: as a multiple of those of base.
    """

    name: str
    paper: PaperRow
    flags: Mapping[str, object]
    updates: int = 1


def small_rows() -> list[SmallRow]:
    """Returns every row of Table 3, and base with another seed after base."""
    rows = []
    for paper in TABLE_3:
        name = Path(paper.flagfile).stem
        rows.append(SmallRow(name, paper, scale(paper), _updates(paper)))
        if paper == BASE:
            rows.append(SmallRow("base, seed 2", paper, {**scale(paper), "seed": 2}))
    return rows


def scale(row: PaperRow) -> dict[str, object]:
    """Returns the flags of a row with its sizes divided by `DIVISOR`."""
    experiment = read_flagfiles(row.flagfile)
    values = {**vars(experiment.training), **vars(experiment.transformer)}
    sizes = {name: values[name] // DIVISOR for name in SCALED}
    return {**sizes, **{name: values[name] for name in OTHERS}}


def main() -> None:
    """Trains and evaluates what is missing, prints the table, writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    rows = {row.name: row for row in small_rows()}
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--updates", type=int, default=2_600, help="of base; three times for big")
    parser.add_argument("--rows", type=some_of(rows), default=list(rows))
    output_flag(parser, "table3_small")
    arguments = parser.parse_args()
    output: Path = arguments.output
    scores: dict[str, Any] = json.loads(output.read_text())["results"] if output.exists() else {}
    dataset = arguments.work_dir / "data"
    preprocess(dataset, {"vocabulary_size": VOCABULARY_SIZE})
    for name in arguments.rows:
        if name not in scores:
            run_dir = arguments.work_dir / "runs" / name.replace(", ", "_").replace(" ", "_")
            scores[name] = measure(rows[name], dataset, run_dir, arguments.updates)
            write_record("table3_small", arguments, scores)
            print(format_scores(scores), flush=True)


def measure(row: SmallRow, dataset: Path, run_dir: Path, updates: int) -> dict[str, float]:
    """Trains a row, or resumes it, and returns its scores on dev."""
    updates *= row.updates
    places = {"dataset_dir": dataset, "run_dir": run_dir}
    steps = {"train_steps": updates, "checkpoint_every_steps": max(1, updates // CHECKPOINTS)}
    train("configs/multi30k.flags", {**TRAINING, **row.flags, **places, **steps})
    scores = evaluate(run_dir, "dev")["dev"]
    return {
        "perplexity": scores["perplexity"],
        "accuracy": token_accuracy(run_dir, dataset),
        "bleu": scores["sacrebleu"],
        "updates": updates,
        "train_seconds": scores["train_seconds"],
    }


def token_accuracy(run_dir: Path, dataset_dir: Path) -> float:
    """Returns the share of dev's target subwords that are the most probable one."""
    import numpy as np

    start_tensorflow()
    from trainer.data.buckets import make_buckets
    from trainer.data.input_pipeline import evaluation_batches
    from trainer.inference.translator import load_translator

    run = load_run(run_dir)
    translator, _checkpoint = load_translator(run, TrainedModel(str(run_dir)), run.search)
    transformer = translator.transformer
    buckets = make_buckets(load_dataset(dataset_dir), "dev", tokens_per_batch=4_096, parts=1)
    right = total = 0
    for batch in evaluation_batches(buckets):
        target = batch["target"].numpy()
        best = np.argmax(transformer(batch["source"], batch["target"]), axis=-1)
        right += int(((best == target) & (target != 0)).sum())
        total += int((target != 0).sum())
    return right / total


def format_scores(scores: Mapping[str, Mapping[str, float]]) -> str:
    """Returns the rows so far, the paper's figures beside ours."""
    header = ["", "row", "PPL, paper", "BLEU, paper", "PPL", "accuracy", "BLEU", "minutes"]
    lines = [header]
    for row in small_rows():
        if row.name in scores:
            ours = scores[row.name]
            lines.append(
                [
                    row.paper.group,
                    row.name,
                    f"{row.paper.perplexity:.2f}",
                    f"{row.paper.bleu:.1f}",
                    f"{ours['perplexity']:.3f}",
                    f"{ours['accuracy']:.1%}",
                    f"{ours['bleu']:.2f}",
                    f"{ours['train_seconds'] / 60:.0f}",
                ]
            )
    return "\n".join(format_table(lines, text_columns=2))


def _updates(paper: PaperRow) -> int:
    steps = [read_flagfiles(row.flagfile).training.train_steps for row in (paper, BASE)]
    return steps[0] // steps[1]


if __name__ == "__main__":
    main()
