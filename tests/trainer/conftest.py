"""A tiny dataset and a tiny model, the same for all tests of the trainer."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from model.config import SearchConfig, TransformerConfig
from pipeline.dataset.schema import SIDES, Dataset
from tests.helpers.datasets import VOCABULARY_SIZE, builtin_splits, write_dataset
from trainer.config import TrainingConfig
from trainer.runs.run_directory import Run, configure_run

if TYPE_CHECKING:
    from trainer.inference.translator import Translator
    from trainer.training.train_step import TrainingModel

TINY = TransformerConfig(num_layers=1, model_dim=16, feed_forward_dim=24, num_heads=2)


@pytest.fixture(scope="session")
def tiny_dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A few hundred pairs in four buckets of three shards each; not to be changed."""
    return write_dataset(tmp_path_factory.mktemp("data") / "tiny", builtin_splits())


@pytest.fixture(scope="session")
def tiny_transformer() -> TransformerConfig:
    """One layer of width 16, with dropout."""
    return TINY


@pytest.fixture(scope="session")
def translator(tiny_dataset: Dataset, tiny_transformer: TransformerConfig) -> "Translator":
    """An untrained model, sharpened so that no two hypotheses are nearly equal."""
    import keras

    from model.transformer import Transformer
    from trainer.inference.tokenization import load_text_ops
    from trainer.inference.translator import Translator

    keras.utils.set_random_seed(1)
    transformer = Transformer(tiny_transformer, VOCABULARY_SIZE)
    transformer.embedding.matrix.assign(3.0 * transformer.embedding.matrix)
    ops = load_text_ops(tiny_dataset.path("subwords.model"))
    search = SearchConfig(beam_size=2, extra_length=3, max_source_length=24)
    return Translator(transformer, ops, ops, search)


@pytest.fixture(scope="session")
def parser(translator: "Translator", tmp_path_factory: pytest.TempPathFactory) -> "Translator":
    """An untrained parser, with the subwords of `translator` and 10 symbols."""
    import keras

    from model.transformer import Transformer
    from pipeline.subwords import symbols
    from trainer.inference.tokenization import load_text_ops
    from trainer.inference.translator import Translator

    keras.utils.set_random_seed(1)
    path = tmp_path_factory.mktemp("symbols") / "subwords.target.symbols"
    pieces = ("(S", ")S", "(NP", ")NP", "(VP", ")VP", "NN", "VB", "DT", ".")
    symbols.write({piece: 9 - n for n, piece in enumerate(pieces)}, str(path), tags=True)
    transformer = Transformer(TINY, 13, source_vocabulary_size=VOCABULARY_SIZE)
    return Translator(transformer, translator.source_ops, load_text_ops(path), translator.search)


@pytest.fixture
def make_run(tmp_path: Path, tiny_dataset: Dataset) -> Callable[..., Run]:
    """Makes the description of a run of the tiny model in a directory of the test's own."""

    def make(transformer: TransformerConfig = TINY, **training: Any) -> Run:
        config = TrainingConfig(
            dataset_dir=str(tiny_dataset.directory), run_dir=str(tmp_path / "run"), **training
        )
        return configure_run(transformer, config, SearchConfig(), tiny_dataset)

    return make


@pytest.fixture
def tiny_run(make_run: Callable[..., Run], tiny_dataset: Dataset) -> Run:
    """A run of the tiny model whose directory holds the subwords."""
    run = make_run()
    run.directory.mkdir()
    for side in SIDES:
        shutil.copy(tiny_dataset.path(run.data.vocabularies[side].path), run.subwords_path(side))
    return run


@pytest.fixture(scope="session")
def reuse_training_model(tiny_dataset: Dataset) -> "Callable[..., TrainingModel]":
    """As `make_training_model`, but creates and traces the model of some settings only once.

    Each call resets its weights, optimizer and random state. Two models at a time need different
    seeds. Not for tests that patch the step, or set a strategy or a precision.
    """
    import keras

    from trainer.training import construction

    models: dict[str, tuple[TrainingModel, list[Any]]] = {}

    def reuse(
        transformer: TransformerConfig = TINY, *, parts_at_once: int = 1, **settings: Any
    ) -> "TrainingModel":
        config = TrainingConfig(dataset_dir=tiny_dataset.directory, run_dir="none", **settings)
        key = repr((transformer, parts_at_once, config))
        if key not in models:
            keras.utils.set_random_seed(config.seed)
            run = configure_run(transformer, config, SearchConfig(), tiny_dataset)
            model = construction.make_training_model(run, parts_at_once=parts_at_once)
            models[key] = model, [variable.numpy() for variable in variables_of(model)]
        model, initial = models[key]
        for variable, value in zip(variables_of(model), initial, strict=True):
            variable.assign(value)
        return model

    def variables_of(model: "TrainingModel") -> list[Any]:
        return [*model.transformer.variables, *model.optimizer.variables]

    return reuse


@pytest.fixture
def make_training_model(make_run: Callable[..., Run]) -> "Callable[..., TrainingModel]":
    """Creates a tiny training model from an architecture and settings of `TrainingConfig`."""
    from trainer.training import construction

    def make(
        transformer: TransformerConfig = TINY, *, parts_at_once: int = 1, **settings: Any
    ) -> "TrainingModel":
        run = make_run(transformer, **settings)
        return construction.make_training_model(run, parts_at_once=parts_at_once)

    return make
