"""Serves a local page to try a model on: type sentences, see translations, alternatives, attention.

    python -m trainer.demo --run_dir=runs/demo
    python -m trainer.demo --saved_model=exported/translator/1 --port=9000

The page loads nothing from elsewhere, and this machine alone can open it unless --host says
otherwise. Ctrl-C ends the command.
"""

from model.config import SearchConfig
from pipeline.common import cli
from pipeline.common.errors import UserError
from trainer.pages.demo_answers import AnswerSentences, answer_with_run, answer_with_saved_model
from trainer.pages.demo_server import DemoConfig, serve_demo
from trainer.runs.run_directory import load_run
from trainer.runs.trained_model import TrainedModels


def main(_: list[str]) -> None:
    """Reads the flags, loads the model, and serves until an interrupt."""
    config = cli.config_from_flags(DemoConfig)
    serve_demo(lambda: _load(config), config)


def _load(config: DemoConfig) -> AnswerSentences:
    """Raises UserError if flags of a run are given with a SavedModel."""
    if not config.saved_model:
        models = cli.config_from_flags(TrainedModels)
        run = load_run(models.run_dir)
        return answer_with_run(run, models, cli.override_from_flags(run.search))
    ignored = cli.given_flags(TrainedModels) + cli.given_flags(SearchConfig)
    if ignored:
        raise UserError(
            f"received --saved_model and --{ignored[0]}: which weights and how to search was "
            "fixed by trainer.export; leave one out, or export again"
        )
    return answer_with_saved_model(config.saved_model)


if __name__ == "__main__":
    for config in (DemoConfig, TrainedModels, SearchConfig):
        cli.define_flags(config)
    cli.run(main)
