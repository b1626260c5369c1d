"""The whole way with a vocabulary for each side: text → shards → training → BLEU → SavedModel."""

from pathlib import Path

import pytest
import tensorflow as tf

from model.config import SearchConfig, TransformerConfig
from pipeline.dataset.schema import END_ID, SIDES, Dataset
from pipeline.subwords.encoding import load_subwords
from tests.helpers.preprocessing import build, configure
from trainer.config import TrainingConfig
from trainer.evaluation.test_sets import evaluate_bleu
from trainer.exporters.saved_model import load_saved_model, save_translator
from trainer.inference.batching import translate_all
from trainer.inference.translator import Translator, load_translator
from trainer.runs.run_directory import Run, load_run
from trainer.runs.trained_model import TrainedModel
from trainer.training.loop import train

SENTENCES = ["dogs and cats run.", "girls run.", ""]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Wordpieces, since their two vocabularies differ in size too."""
    folder = tmp_path_factory.mktemp("text")
    config = configure(
        folder, "data", subwords="wordpiece", shared_vocabulary=False, vocabulary_size=36
    )
    dataset = build(config)
    assert len({vocabulary.size for vocabulary in dataset.vocabularies.values()}) == 2
    return dataset


@pytest.fixture(scope="module")
def run(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of two updates, scored on dev."""
    run_dir = str(tmp_path_factory.mktemp("runs") / "tiny")
    training = TrainingConfig(
        dataset_dir=str(dataset.directory),
        run_dir=run_dir,
        train_steps=2,
        tokens_per_batch=512,
        keep_checkpoints=1,
        average_checkpoints=1,
    )
    transformer = TransformerConfig(num_layers=1, model_dim=16, feed_forward_dim=24, num_heads=2)
    search = SearchConfig(beam_size=2, extra_length=2)
    assert train(transformer, training, search, dataset) is None
    return load_run(run_dir)


@pytest.fixture(scope="module")
def translator(run: Run) -> Translator:
    return load_translator(run, TrainedModel(), run.search)[0]


def test_each_side_of_the_translator_has_its_own_subwords(
    dataset: Dataset, translator: Translator
) -> None:
    source, target = (
        load_subwords(dataset.path(dataset.vocabularies[side].path)) for side in SIDES
    )
    (ids,) = translator.source_ops.tokenize(tf.constant(SENTENCES[:1])).numpy().tolist()
    assert ids == [*source.encode(SENTENCES[:1])[0], END_ID]
    german = "Katzen und Bären laufen."
    (ids,) = target.encode([german])
    assert translator.target_ops.detokenize(tf.constant([ids])).numpy()[0].decode() == german
    transformer = translator.transformer
    assert transformer.source_embedding.vocabulary_size == source.vocabulary_size
    assert transformer.embedding.vocabulary_size == target.vocabulary_size


def test_the_run_keeps_both_and_evaluates(
    run: Run, dataset: Dataset, translator: Translator
) -> None:
    for side in SIDES:
        original = Path(dataset.path(dataset.vocabularies[side].path))
        assert run.subwords_path(side).read_bytes() == original.read_bytes()
    scores, rows = evaluate_bleu(translator, dataset, "test")
    assert scores.sentences == len(rows) == 20


def test_the_saved_model_translates_as_the_run_does(translator: Translator, tmp_path: Path) -> None:
    save_translator(translator, tmp_path / "model", weights="float32")
    served = translate_all(load_saved_model(str(tmp_path / "model")), SENTENCES)
    for received, expected in zip(
        served, translate_all(translator.translate, SENTENCES), strict=True
    ):
        assert received.text == expected.text
        assert received.score == pytest.approx(expected.score, rel=1e-5)
