"""The end of a run: the weights that it keeps, and their scores on dev (§6.1)."""

import json
import shlex

from absl import logging

from pipeline.common.progress import format_duration
from pipeline.common.storage import write_atomically
from pipeline.dataset.schema import Dataset
from trainer.evaluation.result import MAIN_METRICS, main_metric
from trainer.inference.translator import Translator
from trainer.runs.checkpoint_files import list_checkpoints
from trainer.runs.checkpoints import assign_weights, save_averaged
from trainer.runs.run_directory import Run
from trainer.training.averaging import Candidate, make_candidates, warn_of_average
from trainer.training.completion import RESULT_FILE, requested_average
from trainer.training.dev_evaluation import evaluate_dev
from trainer.training.train_step import TrainingModel

Scores = dict[str, float]


def finish(
    run: Run, training_model: TrainingModel, translator: Translator, dataset: Dataset
) -> None:
    """Scores the candidates that `--average` names on dev, and keeps the best in `averaged/`.

    The best has the highest BLEU, or F1 of trees; among equals, such as the zeros of a short run,
    the lowest perplexity. Writes `train.json`. Afterwards the model has the weights of the last
    candidate.
    """
    last = list_checkpoints(run.directory)[-1]
    candidates = make_candidates(run, training_model)
    best = next(candidates)
    scores = {best.name: _score(run, best, training_model, translator, dataset)}
    for candidate in candidates:
        scores[candidate.name] = _score(run, candidate, training_model, translator, dataset)
        if _is_better(scores[candidate.name], scores[best.name]):
            best = candidate
    save_averaged(run.directory, best.weights, last, sources=best.sources)
    if best.name == "last":
        warn_of_average(run.training, best.sources, last_step=last.step)
    result = {
        "steps": last.step,
        "average": best.name,
        "asked_for": requested_average(run),
        "averaged_steps": list(best.sources),
        "train_seconds": round(last.train_seconds, 1),
        **{f"dev_{name}": value for name, value in scores[best.name].items()},
        "candidates": scores,
    }
    text = json.dumps(result, indent=1) + "\n"
    write_atomically(str(run.directory / RESULT_FILE), text.encode())
    logging.info(
        "kept: %s; trained for %s", _name_candidate(best), format_duration(last.train_seconds)
    )
    logging.info("Next: python -m trainer.evaluate --run_dir=%s", shlex.quote(str(run.directory)))


def _score(
    run: Run,
    candidate: Candidate,
    training_model: TrainingModel,
    translator: Translator,
    dataset: Dataset,
) -> Scores:
    assign_weights(training_model.transformer, candidate.weights, run.directory)
    values = evaluate_dev(translator, dataset)
    logging.info(
        "%s on dev: perplexity %.3f, %s %.2f",
        _name_candidate(candidate),
        values["perplexity"],
        MAIN_METRICS[main_metric(values)],
        values[main_metric(values)],
    )
    return values


def _is_better(scores: Scores, than: Scores) -> bool:
    metric = main_metric(scores)
    return (scores[metric], -scores["perplexity"]) > (than[metric], -than["perplexity"])


def _name_candidate(candidate: Candidate) -> str:
    if candidate.name == "ema":
        return "moving average"
    if candidate.name == "none":
        return "last checkpoint"
    return f"average of the {len(candidate.sources)} {candidate.name} checkpoints"
