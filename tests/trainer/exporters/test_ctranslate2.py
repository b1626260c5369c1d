"""The exported weights in CTranslate2, an independent implementation, give our probabilities."""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from model.config import SearchConfig, TransformerConfig
from model.transformer import Transformer
from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset
from pipeline.subwords.encoding import load_subwords
from tests.helpers.datasets import VOCABULARY_SIZE, builtin_splits
from trainer.exporters.ctranslate2 import save_ctranslate2
from trainer.inference.translator import Translator, make_translator
from trainer.runs.run_directory import Run

TINY = TransformerConfig(num_layers=2, model_dim=16, feed_forward_dim=24, num_heads=2)
TENSOR2TENSOR = dataclasses.replace(
    TINY, norm="pre", positions="sinusoidal_halves", padding_embedding="zeros", target_space=True
)
LEARNED = dataclasses.replace(TINY, positions="learned")
WIDE = dataclasses.replace(TINY, feed_forward_dim=512)
DEPTHS = dataclasses.replace(TINY, encoder_layers=3, decoder_layers=1)
CONFIGS = {
    "paper": TINY, "t2t": TENSOR2TENSOR, "learned": LEARNED, "wide": WIDE, "3 + 1 layers": DEPTHS,
}  # fmt: skip


@pytest.fixture
def ctranslate2() -> Any:
    return pytest.importorskip("ctranslate2", reason="needs pip install '.[ctranslate2]'")


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_ctranslate2_gives_the_same_probabilities_and_words(
    ctranslate2: Any,
    make_run: Callable[..., Run],
    tiny_dataset: Dataset,
    tmp_path: Path,
    config: TransformerConfig,
) -> None:
    run = dataclasses.replace(make_run(config), search=SearchConfig(beam_size=1, length_penalty=0))
    short = dataclasses.replace(run, search=SearchConfig(max_source_length=2, extra_length=1))
    run.directory.mkdir()
    run.subwords_path("source").write_bytes(Path(tiny_dataset.path("subwords.model")).read_bytes())
    keras.utils.set_random_seed(3)
    transformer = Transformer(config, VOCABULARY_SIZE)
    for weight in transformer.trainable_variables:  # so that no bias or scale goes unnoticed
        weight.assign_add(0.3 * keras.random.normal(weight.shape))
    transformer.optimize_for_search()
    translator = make_translator(run, transformer)
    save_ctranslate2(short, translator, tmp_path / "model", weights="float32")
    engine = ctranslate2.Translator(str(tmp_path / "model"), compute_type="float32")
    subwords = load_subwords(tmp_path / "model" / "subwords.model")

    sources, targets = zip(*builtin_splits()["test"][:6], strict=True)
    pieces = [
        [subwords.pieces(ids) for ids in subwords.encode(side)] for side in (sources, targets)
    ]
    ours = translator.score_pairs(tf.constant(sources), tf.constant(targets))
    theirs = engine.score_batch(*pieces)
    log_probabilities = [sum(result.log_probs) for result in theirs]
    np.testing.assert_allclose(log_probabilities, ours["log_probability"], rtol=1e-4)

    found = translator.search_ids(translator.source_ops.tokenize(tf.constant(sources)))
    results = engine.translate_batch(pieces[0], beam_size=1, max_decoding_length=8)
    for row, result in enumerate(results):
        ids = found.tokens[row, 0].numpy().tolist()[:8]
        assert subwords.pieces(ids)[: len(result.hypotheses[0])] == result.hypotheses[0]


def test_without_the_package_one_line_says_what_to_install(
    tiny_run: Run, translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2.specs", None)
    with pytest.raises(UserError, match=r"pip install '.\[ctranslate2\]'"):
        save_ctranslate2(tiny_run, translator, tmp_path / "x", weights="int8")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"key_dim": 4}, "with 4 and 8: export a SavedModel"),
        ({"attention_window": 3}, "--attention_window=3: export a SavedModel"),
    ],
)
def test_what_it_cannot_express_is_refused(
    tiny_run: Run, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    transformer = Transformer(dataclasses.replace(TINY, **changes), VOCABULARY_SIZE)
    translator = make_translator(tiny_run, transformer)
    with pytest.raises(UserError, match=message):
        save_ctranslate2(tiny_run, translator, tmp_path / "x", weights="int8")
    assert not (tmp_path / "x").exists()
