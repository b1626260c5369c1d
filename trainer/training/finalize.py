"""The end of a run: the weights that it leaves, and their scores on dev (§6.1)."""

import json

from absl import logging

from pipeline.common.progress import format_duration
from pipeline.common.storage import write_atomically
from pipeline.dataset.schema import Dataset
from trainer.inference.translator import Translator
from trainer.runs.checkpoints import assign_weights, list_checkpoints, save_averaged
from trainer.runs.metrics_log import read_metric
from trainer.runs.run_directory import Run
from trainer.training.averaging import Candidate, make_candidates
from trainer.training.dev_evaluation import evaluate_dev, should_stop_early
from trainer.training.train_step import TrainingModel


def finish(
    run: Run, training_model: TrainingModel, translator: Translator, dataset: Dataset
) -> None:
    """Scores the candidates that `--average` names on dev, and keeps the best in `averaged/`.

    The best has the highest BLEU; of equals, such as the zeros of a short run, the lowest
    perplexity. Writes `train.json`; the model is left with the weights of the last candidate.
    """
    last = list_checkpoints(run.directory)[-1]
    candidates = make_candidates(run, training_model)
    chosen = next(candidates)
    scores = {chosen.name: _score(run, chosen, training_model, translator, dataset)}
    for candidate in candidates:
        scores[candidate.name] = _score(run, candidate, training_model, translator, dataset)
        if _merit(scores[candidate.name]) > _merit(scores[chosen.name]):
            chosen = candidate
    save_averaged(run.directory, chosen.weights, last, sources=chosen.sources)
    result = {
        "steps": last.step,
        "average": chosen.name,
        "asked_for": _averaging(run),
        "averaged_steps": list(chosen.sources),
        "train_seconds": round(last.train_seconds, 1),
        **{f"dev_{name}": value for name, value in scores[chosen.name].items()},
        "candidates": scores,
    }
    write_atomically(
        str(run.directory / "train.json"), (json.dumps(result, indent=1) + "\n").encode()
    )
    logging.info(
        "kept: %s; trained for %s", _name_candidate(chosen), format_duration(last.train_seconds)
    )
    logging.info("next: python -m trainer.evaluate --run_dir=%s", run.directory)


def finished_steps(run: Run) -> int | None:
    """Returns how many updates a run has results of: all, or fewer by early stopping; else None.

    If other averages are asked for than it has, or it went on after them, it is not finished.
    """
    path = run.directory / "train.json"
    if not path.exists():
        return None
    result = json.loads(path.read_text("utf-8"))
    steps, saved = int(result["steps"]), list_checkpoints(run.directory)
    if saved and result.get("asked_for") not in (None, _averaging(run)):
        return None
    if steps >= run.training.train_steps:
        return steps
    went_on = bool(saved) and saved[-1].step > steps
    stopped = should_stop_early(read_metric(run.directory, "dev/bleu"), run.training)
    return steps if stopped and not went_on else None


def _score(
    run: Run,
    candidate: Candidate,
    training_model: TrainingModel,
    translator: Translator,
    dataset: Dataset,
) -> dict[str, float]:
    assign_weights(training_model.transformer, candidate.weights, run.directory)
    values = evaluate_dev(run, translator, dataset)
    figures = f"perplexity {values['perplexity']:.3f}, BLEU {values['bleu']:.2f}"
    logging.info("%s on dev: %s", _name_candidate(candidate), figures)
    return values


def _averaging(run: Run) -> str:
    return f"{run.training.average} of {run.training.average_checkpoints}"


def _merit(scores: dict[str, float]) -> tuple[float, float]:
    return scores["bleu"], -scores["perplexity"]


def _name_candidate(candidate: Candidate) -> str:
    if candidate.name == "ema":
        return "moving average"
    if candidate.name == "none":
        return "last checkpoint"
    return f"average of the {len(candidate.sources)} {candidate.name} checkpoints"
