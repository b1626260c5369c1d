"""The end of a run: the weights that it keeps, and their scores on dev (§6.1)."""

import json
from pathlib import Path
from typing import Any

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

Scores = dict[str, float]


def finish(
    run: Run, training_model: TrainingModel, translator: Translator, dataset: Dataset
) -> None:
    """Scores the candidates that `--average` names on dev, and keeps the best in `averaged/`.

    The best has the highest BLEU; among equals, such as the zeros of a short run, the lowest
    perplexity. Writes `train.json`. Afterwards the model has the weights of the last candidate.
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
    result = {
        "steps": last.step,
        "average": best.name,
        "asked_for": _requested_average(run),
        "averaged_steps": list(best.sources),
        "train_seconds": round(last.train_seconds, 1),
        **{f"dev_{name}": value for name, value in scores[best.name].items()},
        "candidates": scores,
    }
    text = json.dumps(result, indent=1) + "\n"
    write_atomically(str(run.directory / "train.json"), text.encode())
    logging.info(
        "kept: %s; trained for %s", _name_candidate(best), format_duration(last.train_seconds)
    )
    logging.info("next: python -m trainer.evaluate --run_dir=%s", run.directory)


def finished_steps(run: Run) -> int | None:
    """Returns the number of updates of a finished run, fewer than asked for if it stopped early.

    None if the run has no results yet, has results of another `--average` than is asked for, or
    was trained further since.
    """
    result = _read_result(run.directory)
    if result is None:
        return None
    steps, saved = int(result["steps"]), list_checkpoints(run.directory)
    if saved and result.get("asked_for") not in (None, _requested_average(run)):
        return None
    if steps >= run.training.train_steps:
        return steps
    trained_further = bool(saved) and saved[-1].step > steps
    stopped_early = should_stop_early(read_metric(run.directory, "dev/bleu"), run.training)
    return steps if stopped_early and not trained_further else None


def format_result(run_dir: str | Path) -> str:
    """Returns the result of a finished run: a headline with BLEU, and a line per candidate."""
    result = _read_result(Path(run_dir))
    if result is None:
        raise ValueError(f"{run_dir} has no train.json: expected a finished run")
    scores = [
        f"{name:6}  BLEU {values['bleu']:.2f}, perplexity {values['perplexity']:.3f}"
        for name, values in result.get("candidates", {}).items()
    ]
    return "\n".join(
        [
            f"dev: BLEU {result['dev_bleu']:.2f}, perplexity {result['dev_perplexity']:.3f}, "
            f"{result['steps']:,} updates, {format_duration(result['train_seconds'])}",
            "",
            f"weights {run_dir}/averaged, from --average={result['average']}; candidates:",
            *scores,
        ]
    )


def _read_result(run_dir: Path) -> dict[str, Any] | None:
    path = run_dir / "train.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


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
        "%s on dev: perplexity %.3f, BLEU %.2f",
        _name_candidate(candidate),
        values["perplexity"],
        values["bleu"],
    )
    return values


def _is_better(scores: Scores, than: Scores) -> bool:
    return (scores["bleu"], -scores["perplexity"]) > (than["bleu"], -than["perplexity"])


def _requested_average(run: Run) -> str:
    return f"{run.training.average} of {run.training.average_checkpoints}"


def _name_candidate(candidate: Candidate) -> str:
    if candidate.name == "ema":
        return "moving average"
    if candidate.name == "none":
        return "last checkpoint"
    return f"average of the {len(candidate.sources)} {candidate.name} checkpoints"
