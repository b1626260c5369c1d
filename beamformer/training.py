"""`train`: from a dataset directory to a run directory, as `trainer.task` does it."""

import signal
from typing import Any, NoReturn

from beamformer.arguments import check_names, make_config
from beamformer.session import as_guest, restoring_precision, start
from beamformer.translators import TrainedTranslator, load_trained
from model.config import SearchConfig, TransformerConfig
from trainer.config import TrainingConfig
from trainer.data.mixture import load_datasets
from trainer.training.completion import open_if_finished


def train(**settings: Any) -> TrainedTranslator | None:
    """Trains a model, or finishes a run that was interrupted; progress is on standard error.

    Args:
        settings: fields of `TransformerConfig`, `TrainingConfig` and `SearchConfig`, the flags of
            `trainer.task`.

    Returns:
        The translator of the finished run, as `load` makes it; None with `dry_run=True`, which
        prints memory and time.

    Raises:
        UserError: an argument or the dataset cannot be used, or the loss is not finite.
        KeyboardInterrupt: by Ctrl-C, after a checkpoint is saved; the same call continues the run
            exactly. A second Ctrl-C interrupts at once.
    """
    check_names(settings, TransformerConfig, TrainingConfig, SearchConfig)
    transformer = make_config(TransformerConfig, settings)
    training = make_config(TrainingConfig, settings)
    search = make_config(SearchConfig, settings)
    with as_guest():
        stopped_by = _train(transformer, training, search)
    if stopped_by:
        _interrupt(stopped_by, training.run_dir)
    return None if training.dry_run else load_trained(training.run_dir, {})


def _train(
    transformer: TransformerConfig, training: TrainingConfig, search: SearchConfig
) -> signal.Signals | None:
    """Returns the signal that stopped the run; None if it is finished, or for a dry run."""
    datasets = load_datasets(training.dataset_dirs)
    if open_if_finished(transformer, training, search, *datasets):
        return None
    start(for_training=training)
    from trainer.runtime.error_messages import explain_dataset_errors, explain_training_errors
    from trainer.training import dry_run, loop

    with (
        restoring_precision(),
        explain_dataset_errors(*datasets),
        explain_training_errors(training),
    ):
        if training.dry_run:
            print(dry_run.estimate_training(transformer, training, search, *datasets))
            return None
        return loop.train(transformer, training, search, *datasets)


def _interrupt(stopped_by: signal.Signals, run_dir: str) -> NoReturn:
    """Passes the signal on to the program, which training has kept waiting."""
    if stopped_by != signal.SIGINT:
        signal.raise_signal(stopped_by)
    raise KeyboardInterrupt(
        f"{run_dir} is unfinished, with a checkpoint saved: the same call continues it"
    )
