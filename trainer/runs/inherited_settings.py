"""Flags of the model and of search, which a run that starts from another one inherits."""

import dataclasses

from absl import logging

from model.config import SearchConfig, TransformerConfig
from pipeline.common import cli
from pipeline.common.errors import UserError
from pipeline.common.settings import as_flags
from trainer.config import TrainingConfig
from trainer.runs.origin import find_origin_checkpoint
from trainer.runs.run_directory import Run, has_begun, load_run

# Only training uses them, so they may differ from the origin's.
_MAY_DIFFER = {"dropout", "attention_dropout", "relu_dropout", "attention_init_variance"}
_DEPTHS = {"num_layers", "encoder_layers", "decoder_layers"}


def read_model_flags(training: TrainingConfig) -> tuple[TransformerConfig, SearchConfig]:
    """Reads the flags of the model and of search.

    With `--init_from`, those that are not given are that run's, or, once the run has begun, its
    own.

    Raises:
        UserError: a flag is out of range, or describes another model than that of the origin; or
            there is no such origin.
    """
    if not training.init_from:
        return cli.config_from_flags(TransformerConfig), cli.config_from_flags(SearchConfig)
    begun = has_begun(training.run_dir)
    inherited = load_run(training.run_dir) if begun else _load_origin(training)
    transformer = cli.override_from_flags(inherited.transformer)
    search = cli.override_from_flags(inherited.search)
    if not begun:
        _check_same_model(inherited.transformer, transformer, training.init_from)
        find_origin_checkpoint(training)
        settings = " ".join([*_changed_flags(transformer), *_changed_flags(search)])
        logging.info("model and search of %s: %s", training.init_from, settings or "the defaults")
    return transformer, search


def _load_origin(training: TrainingConfig) -> Run:
    try:
        return load_run(training.init_from)
    except UserError as error:
        raise UserError(f"--init_from: {error}") from error


def _check_same_model(origin: TransformerConfig, given: TransformerConfig, init_from: str) -> None:
    """Raises UserError if weights of one do not fit the other, or mean something else there."""
    may_differ = _MAY_DIFFER | (_DEPTHS if origin.depths == given.depths else set())
    for field in dataclasses.fields(origin):
        was, now = getattr(origin, field.name), getattr(given, field.name)
        if was != now and field.name not in may_differ:
            raise UserError(
                f"received {as_flags(given, field.name)} with --init_from={init_from}, whose model "
                f"has {as_flags(origin, field.name)}: leave the flag out, or start from another run"
            )


def _changed_flags(config: TransformerConfig | SearchConfig) -> list[str]:
    """Returns the flags that differ from the defaults."""
    default = type(config)()
    names = [field.name for field in dataclasses.fields(config)]
    return [
        as_flags(config, name) for name in names if getattr(config, name) != getattr(default, name)
    ]
