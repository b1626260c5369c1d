"""Whether a run is finished, and with which result: read from its files, without TensorFlow."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from absl import logging

from model.config import SearchConfig, TransformerConfig
from pipeline.common.errors import UserError
from pipeline.common.progress import format_duration
from pipeline.dataset.schema import Dataset
from trainer.config import TrainingConfig
from trainer.evaluation.result import MAIN_METRICS
from trainer.runs.checkpoint_files import list_folder
from trainer.runs.metrics_log import read_dev_scores
from trainer.runs.run_directory import Run, lock_run_directory, open_run

RESULT_FILE = "train.json"


def open_if_finished(
    transformer: TransformerConfig,
    training: TrainingConfig,
    search: SearchConfig,
    *datasets: Dataset,
) -> bool:
    """Opens a run as training does, if it has a result, and returns whether it is finished.

    This spares a finished run the start of TensorFlow. Several workers find out together, later.

    Raises:
        UserError: the run directory holds another run, or another process is training in it.
    """
    path = Path(training.run_dir) / RESULT_FILE
    if training.dry_run or "TF_CONFIG" in os.environ or not path.exists():
        return False
    with lock_run_directory(training.run_dir):
        return is_finished(open_run(transformer, training, search, *datasets))


def is_finished(run: Run) -> bool:
    """Returns whether a run needs no more training; logs how long it was trained, if so."""
    steps, planned = finished_steps(run), run.training.train_steps
    if steps is None:
        return False
    more = f", more than --train_steps={planned}" if steps > planned else ""
    logging.info("%s is finished: %d steps%s", run.directory, steps, more)
    return True


def finished_steps(run: Run) -> int | None:
    """Returns the number of updates of a finished run, fewer than asked for if it stopped early.

    None if the run has no results yet, has results of another `--average` than is asked for, or
    was trained further since.
    """
    result = read_training_result(run.directory)
    if result is None:
        return None
    steps, saved = int(result["steps"]), list_folder(run.directory / "checkpoints")
    if saved and result.get("asked_for") not in (None, requested_average(run)):
        return None
    if steps >= run.training.train_steps:
        return steps
    trained_further = bool(saved) and saved[-1].step > steps
    stopped_early = should_stop_early(read_dev_scores(run.directory), run.training)
    return steps if stopped_early and not trained_further else None


def should_stop_early(scores: Sequence[float], config: TrainingConfig) -> bool:
    """Returns whether dev has not improved for `early_stopping_patience` evaluations.

    Args:
        scores: BLEU or F1 of all evaluations so far, in order.
        config: with the patience; 0 never stops.
    """
    patience = config.early_stopping_patience
    return patience > 0 and count_since_best(scores) >= patience


def count_since_best(scores: Sequence[float]) -> int:
    """Counts the evaluations after the first best one.

    Example:
        >>> count_since_best([20.0, 31.5, 31.5])
        1
    """
    return len(scores) - 1 - list(scores).index(max(scores)) if scores else 0


def requested_average(run: Run) -> str:
    """Returns the final weights that are asked for, such as "last of 5"."""
    return f"{run.training.average} of {run.training.average_checkpoints}"


def read_training_result(run_dir: Path) -> dict[str, Any] | None:
    """Reads train.json; None if there is none.

    Raises:
        UserError: it is damaged.
    """
    path = run_dir / RESULT_FILE
    if not path.exists():
        return None
    try:
        result = json.loads(path.read_text("utf-8"))
        int(result["steps"])
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} cannot be read ({error!r}): delete it, then run trainer.task again, which "
            "writes it from the checkpoints"
        ) from error
    return result


def format_result(run_dir: str | Path) -> str:
    """Returns the result of a finished run: a headline with BLEU or F1, a line per candidate."""
    result = read_training_result(Path(run_dir))
    if result is None:
        raise ValueError(f"{run_dir} has no {RESULT_FILE}: expected a finished run")
    metric = next(name for name in MAIN_METRICS if f"dev_{name}" in result)
    title = MAIN_METRICS[metric]
    scores = [
        f"{name:6}  {title} {values[metric]:.2f}, perplexity {values['perplexity']:.3f}"
        for name, values in result.get("candidates", {}).items()
    ]
    return "\n".join(
        [
            f"dev: {title} {result[f'dev_{metric}']:.2f}, perplexity "
            f"{result['dev_perplexity']:.3f}, {result['steps']:,} updates, "
            f"{format_duration(result['train_seconds'])}",
            "",
            f"weights {run_dir}/averaged, from --average={result['average']}; candidates:",
            *scores,
        ]
    )
