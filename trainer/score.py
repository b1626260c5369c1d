"""Scores given translations by a model, without search.

    python -m trainer.score --run_dir=runs/demo --source_file=news.en --target_file=news.de

Line n of the output is a JSON object about line n of both files: the summed log-probability in
nats, the score (with the length penalty of search), and each subword of the translation with its
log-probability.
"""

from model.config import SearchConfig
from pipeline.common import cli
from trainer.bulk_translation.score_files import SEARCH_SETTINGS, ScoredText, score_files
from trainer.runs.run_directory import load_run
from trainer.runs.trained_model import TrainedModels


def main(_: list[str]) -> None:
    """Reads the flags, scores, and writes."""
    files = cli.config_from_flags(ScoredText)
    models = cli.config_from_flags(TrainedModels)
    run = load_run(models.run_dir)
    search = cli.override_from_flags(run.search)
    score_files(run, models, search, files)


if __name__ == "__main__":
    for config in (TrainedModels, ScoredText):
        cli.define_flags(config)
    cli.define_flags(SearchConfig, only=SEARCH_SETTINGS)
    cli.run(main)
