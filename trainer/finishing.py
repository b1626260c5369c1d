"""The end of a run: the average of the last checkpoints, and its scores on dev (§6.1)."""

import json

from absl import logging

from pipeline.schema import Dataset, write_atomically
from trainer.callbacks import gains_no_more
from trainer.checkpoints import average_checkpoints, list_checkpoints, load_weights
from trainer.evaluation import evaluate_bleu, evaluate_loss
from trainer.run_directory import Run
from trainer.telemetry import duration, read_metric
from trainer.translator import Translator


def evaluate_dev(
    run: Run, translator: Translator, dataset: Dataset, *, sentences: int = 0
) -> dict[str, float]:
    """Returns `nll` (nats per target token), `perplexity` and `bleu` (sacreBLEU) on dev."""
    losses = evaluate_loss(
        translator.transformer, dataset, "dev", tokens_per_batch=run.training.tokens_per_batch
    )
    scores, _ = evaluate_bleu(translator, dataset, "dev", sentences=sentences)
    return {**losses, "bleu": scores.sacrebleu}


def finish(run: Run, translator: Translator, dataset: Dataset) -> None:
    """Averages the last checkpoints and scores the average on dev (§6.1)."""
    checkpoints = list_checkpoints(run.directory)
    regular = [one for one in checkpoints if not one.interim]
    # A run stopped before its first regular checkpoint, then given fewer steps, has only the other.
    last = (regular or checkpoints)[-run.training.average_checkpoints :]
    averaged = average_checkpoints(run.directory, last)
    load_weights(averaged, translator.transformer)
    values = evaluate_dev(run, translator, dataset)
    result = {
        "steps": averaged.step,
        "averaged_steps": list(averaged.sources),
        "train_seconds": round(averaged.train_seconds, 1),
        **{f"dev_{name}": value for name, value in values.items()},
    }
    write_atomically(
        str(run.directory / "train.json"), (json.dumps(result, indent=1) + "\n").encode()
    )
    logging.info(
        "average of %d checkpoints on dev: perplexity %.3f, BLEU %.2f; trained for %s",
        len(last),
        values["perplexity"],
        values["bleu"],
        duration(averaged.train_seconds),
    )
    logging.info("next: python -m trainer.evaluate --run_dir=%s", run.directory)


def is_finished(run: Run) -> bool:
    """Returns whether a run has its results, after all its steps or fewer by early stopping."""
    path = run.directory / "train.json"
    if not path.exists():
        return False
    steps = json.loads(path.read_text("utf-8"))["steps"]
    bleu = read_metric(run.directory, "dev/bleu")
    return steps >= run.training.train_steps or gains_no_more(bleu, run.training)
