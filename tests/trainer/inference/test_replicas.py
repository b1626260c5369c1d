"""Translation on all replicas of a model in training: the same as on one device."""

import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

from model.transformer import Transformer
from pipeline.corpora.builtin import generate_pairs
from tests.helpers.datasets import VOCABULARY_SIZE
from trainer.evaluation.test_sets import translate_set
from trainer.inference import batching
from trainer.inference.batching import translate_all
from trainer.inference.replicas import replica_scopes
from trainer.inference.translator import Translator

SENTENCES = [pair[0] for pair in generate_pairs("dev")[:150]]  # three batches


@pytest.fixture(scope="module")
def mirrored(translator: Translator, eight_cpus: list[str]) -> Translator:
    """The translator's model on two replicas."""
    strategy = tf.distribute.MirroredStrategy(
        eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    with strategy.scope():
        transformer = Transformer(translator.transformer.config, VOCABULARY_SIZE)
    for copy, weight in zip(transformer.weights, translator.transformer.weights, strict=True):
        copy.assign(weight)
    return Translator(transformer, translator.source_ops, translator.target_ops, translator.search)


def test_two_replicas_translate_side_by_side_as_one_device_does(
    translator: Translator, mirrored: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting = threading.Barrier(2, timeout=120)  # passes when two batches are being translated
    devices: list[str] = []
    batch_size = batching._SENTENCES_PER_BATCH

    on_device = mirrored.translate

    def translate(text: tf.Tensor) -> dict[str, tf.Tensor]:
        if text.shape[0] == batch_size:  # the first two batches, not the rest
            meeting.wait()
        result = on_device(text)
        devices.append(result["score"].device)
        return result

    monkeypatch.setattr(mirrored, "translate", translate)
    rows = translate_set(mirrored, SENTENCES, SENTENCES)
    expected = translate_all(translator.translate, SENTENCES)
    assert [row.translation for row in rows] == [one.text for one in expected]
    assert [row.score for row in rows] == [one.score for one in expected]
    assert len(set(row.translation for row in rows)) > 10
    assert {device[-5:] for device in devices} == {"CPU:0", "CPU:1"}


def test_each_replica_reads_its_own_weights(mirrored: Translator) -> None:
    matrix = mirrored.transformer.embedding.matrix
    second = matrix.value.values[1]
    before = second.numpy()
    source = mirrored.source_ids(tf.constant(SENTENCES[:3]))[0]
    scores: list[np.ndarray] = []
    try:
        second.assign(-0.5 * before)
        for scope in replica_scopes(mirrored.transformer):
            with scope():
                scores.append(mirrored.token_log_probs(source, source).numpy())
    finally:
        second.assign(before)
    assert len(scores) == 2
    assert np.abs(scores[0] - scores[1]).max() > 0.1


def test_a_model_on_one_device_has_no_scopes_of_replicas(
    translator: Translator, eight_cpus: list[str]
) -> None:
    assert replica_scopes(translator.transformer) == []
    with tf.distribute.MirroredStrategy(eight_cpus[:1]).scope():
        layer = keras.layers.Dense(1)
        layer.build((1, 1))
    assert replica_scopes(layer) == []
