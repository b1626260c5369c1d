"""Scores a trained model on test sets: BLEU, chrF and TER by beam search; loss and perplexity.

    python -m trainer.evaluate --run_dir=runs/demo --split=test
    python -m trainer.evaluate --run_dir=runs/base --split=test,newstest2014_filtered
    python -m trainer.evaluate --run_dir=runs/b --baseline_run_dir=runs/a

Prints the scores of each test set and writes evaluation-NAME.json (scores, signatures, confidence
intervals, scores by length) and evaluation-NAME.jsonl (source, reference, translation and score of
every sentence) into the run directory, or into --output_dir. A parser's trees are scored by
EVALB's rules: labelled precision, recall and F1, exact match and tagging accuracy.
"""

from model.config import SearchConfig
from pipeline.common import cli
from trainer.evaluation.driver import EvaluationConfig, evaluate_run, write_evaluation
from trainer.evaluation.summary import format_result
from trainer.runs.run_directory import load_run
from trainer.runs.trained_model import TrainedModels


def main(_: list[str]) -> None:
    """Reads the flags, evaluates, prints and writes the scores."""
    models = cli.config_from_flags(TrainedModels)
    config = cli.config_from_flags(EvaluationConfig)
    run = load_run(models.run_dir)
    search = cli.override_from_flags(run.search)
    for evaluation in evaluate_run(run, models, search, config):
        # Printed first, in case the disk is full.
        print(format_result(evaluation.result), end="\n\n", flush=True)
        write_evaluation(config.results_dir(run), evaluation)


if __name__ == "__main__":
    for config in (TrainedModels, EvaluationConfig, SearchConfig):
        cli.define_flags(config)
    cli.run(main)
