"""Scores a trained model on dev or test: sacreBLEU by beam search, loss and perplexity.

    python -m trainer.evaluate --run_dir=runs/demo --split=test

Prints a table and writes evaluation-SPLIT.json (scores and signature) and evaluation-SPLIT.jsonl
(source, reference, translation and score of every sentence) into the run directory.
"""

import dataclasses
import json
from dataclasses import field
from typing import Literal

from absl import logging

from model.config import SearchConfig
from pipeline import cli
from pipeline.schema import load_dataset, write_atomically
from trainer.config import TrainedModel
from trainer.run_directory import check_vocabularies, load_run
from trainer.startup import start_tensorflow


@dataclasses.dataclass(frozen=True)
class EvaluationData:
    """What to evaluate on."""

    split: Literal["dev", "test"] = field(
        default="test", metadata={"help": "Split of the dataset to score."}
    )
    dataset_dir: str | None = field(
        default=None,
        metadata={"help": "Dataset directory; that which the run was trained on when not given."},
    )


def main(_: list[str]) -> None:
    """Reads the flags, evaluates, prints and writes the scores."""
    model = cli.config_from_flags(TrainedModel)
    data = cli.config_from_flags(EvaluationData)
    run = load_run(model.run_dir)
    search = cli.override_from_flags(run.search)
    dataset = load_dataset(data.dataset_dir or run.training.dataset_dir)
    check_vocabularies(run, dataset)

    start_tensorflow()
    from trainer.damage import damage_explained
    from trainer.evaluation import evaluate_bleu, evaluate_loss
    from trainer.translator import load_translator

    translator, checkpoint = load_translator(run, model.checkpoint, search)
    with damage_explained(dataset):
        losses = evaluate_loss(
            translator.transformer,
            dataset,
            data.split,
            tokens_per_batch=run.training.tokens_per_batch,
        )
    scores, rows = evaluate_bleu(translator, dataset, data.split)
    result = {
        "split": data.split,
        **dataclasses.asdict(scores),
        **losses,
        "step": checkpoint.step,
        "averaged_steps": list(checkpoint.sources),
        "train_seconds": round(checkpoint.train_seconds, 1),
        "dataset": dataset.fingerprint,
        **dataclasses.asdict(search),
    }
    base = f"{model.run_dir}/evaluation-{data.split}"
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_atomically(f"{base}.jsonl", lines.encode())
    write_atomically(f"{base}.json", (json.dumps(result, indent=1) + "\n").encode())
    for name, value in result.items():
        logging.info("%-16s %s", name, f"{value:.4f}" if isinstance(value, float) else value)
    logging.info("written: %s.json, %s.jsonl", base, base)


if __name__ == "__main__":
    for config in (TrainedModel, EvaluationData, SearchConfig):
        cli.define_flags(config)
    cli.run(main)
