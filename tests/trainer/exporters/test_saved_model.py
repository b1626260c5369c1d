import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from model.transformer import Transformer
from pipeline.common.errors import UserError
from pipeline.dataset.tfrecord import read_records
from pipeline.dataset.trees import parse
from tests.helpers import c_api
from tests.helpers.signatures import read_signature
from tests.trainer.inference.test_translator import SENTENCES, WILD
from trainer.exporters import warmup
from trainer.exporters.saved_model import (
    SIGNATURES,
    WITH_ALIGNMENTS,
    WITH_PREFIX,
    load_saved_model,
    save_translator,
)
from trainer.inference.aligning_translator import AligningTranslator
from trainer.inference.batching import translate_all
from trainer.inference.translator import Translator


def weight_bytes(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.glob("variables/variables.data*"))


def test_a_saved_model_translates_the_same(translator: Translator, saved_model: Path) -> None:
    loaded = load_saved_model(str(saved_model))
    expected = translate_all(translator.translate, SENTENCES)
    for received, wanted in zip(translate_all(loaded, SENTENCES), expected, strict=True):
        assert received.text == wanted.text
        assert received.score == pytest.approx(wanted.score, rel=1e-5)


def test_no_saved_model_is_said_with_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no SavedModel in .*python -m trainer.export"):
        load_saved_model(str(tmp_path))


def test_the_folder_of_versions_is_not_a_version(tmp_path: Path) -> None:
    for version in "12":
        (tmp_path / version).mkdir()
        (tmp_path / version / "saved_model.pb").touch()
    with pytest.raises(UserError, match=f"did you mean {tmp_path}/2"):
        load_saved_model(str(tmp_path))


def test_bfloat16_weights_take_half_the_room_and_translate_alike(
    translator: Translator, saved_model: Path, tmp_path: Path
) -> None:
    save_translator(translator, tmp_path / "half", weights="bfloat16", signatures=["score"])
    ratio = weight_bytes(tmp_path / "half") / weight_bytes(saved_model)
    assert ratio == pytest.approx(0.5, abs=0.06)  # and the index
    text, translation = tf.constant(["Why?"] * 2), tf.constant(["Warum?", "Nein."])
    half = load_saved_model(str(tmp_path / "half"), "score")
    received = half(text=text, translation=translation)["log_probability"].numpy()
    exact = translator.score_pairs(text, translation)["log_probability"].numpy()
    np.testing.assert_allclose(received, exact, rtol=0.05)
    assert (received != exact).all()


def test_an_ensemble_is_saved_whole(translator: Translator, tmp_path: Path) -> None:
    config = dataclasses.replace(translator.transformer.config, encoder_layers=3, decoder_layers=2)
    other = Transformer(config, translator.transformer.vocabulary_size)
    ensemble = Translator(
        translator.transformer, translator.source_ops, translator.target_ops, translator.search,
        [other],
    )  # fmt: skip
    signatures = ["serving_default"]
    save_translator(ensemble, tmp_path / "model", weights="float32", signatures=signatures)
    loaded = load_saved_model(str(tmp_path / "model"))
    received, alone = (translate_all(call, SENTENCES) for call in (loaded, translator.translate))
    expected = translate_all(ensemble.translate, SENTENCES)
    for translation, wanted in zip(received, expected, strict=True):
        assert translation.text == wanted.text
        assert translation.score == pytest.approx(wanted.score, rel=1e-5)
    assert received[0].score != pytest.approx(alone[0].score, rel=1e-3)


def test_a_signature_that_was_not_exported_is_named(saved_model: Path) -> None:
    with pytest.raises(UserError, match="no signature other, only .*serving_default.*again"):
        load_saved_model(str(saved_model), "other")


def test_more_sentences_than_max_batch_are_refused_in_plain_words(saved_model: Path) -> None:
    loaded = load_saved_model(str(saved_model))
    assert len(loaded(text=tf.constant([""] * 16))["translation"]) == 16
    expected = "received 17 sentences, expected at most 16 in a request.*--max_batch"
    with pytest.raises(tf.errors.InvalidArgumentError, match=expected):
        loaded(text=tf.constant([""] * 17))
    ids = load_saved_model(str(saved_model), "translate_ids")
    with pytest.raises(tf.errors.InvalidArgumentError, match=expected):
        ids(tokens=tf.constant([[1]] * 17))


def test_our_own_commands_send_no_more_than_max_batch(
    translator: Translator, saved_model: Path, tmp_path: Path
) -> None:
    exported = shutil.copytree(saved_model, tmp_path / "1")
    (exported / "export.json").write_text('{"max_batch": 16}')
    sentences = [*SENTENCES * 9, "Why?"]  # 37: parts of 16, 16 and 5
    received = translate_all(load_saved_model(str(exported)), sentences)
    expected = translate_all(translator.translate, sentences)
    assert [each.text for each in received] == [each.text for each in expected]
    assert translate_all(load_saved_model(str(exported)), []) == []


def test_ids_after_the_end_symbol_are_padding_whatever_they_are(
    translator: Translator, saved_model: Path
) -> None:
    """TF Serving pads requests that it joins with the first element of each."""
    translate = load_saved_model(str(saved_model), "translate_ids")
    ids = translator.source_ops.tokenize(tf.constant(["The old dog sleeps.", "Why?"])).numpy()
    padded = np.where(ids == 0, ids[:, :1], ids)
    assert (padded != ids).any()
    for name, values in translate(tokens=tf.constant(ids)).items():
        np.testing.assert_array_equal(translate(tokens=tf.constant(padded))[name], values)


def test_warm_up_reaches_the_longest_source_and_translation(translator: Translator) -> None:
    longest = translator.search.max_source_length
    inputs = warmup.warmup_inputs(longest=longest, most=64)[WITH_PREFIX]
    assert translator.source_ids(inputs["text"])[0].shape == (3, longest)
    assert len(warmup.warmup_inputs(longest=256, most=2)[WITH_PREFIX]["text"]) == 2
    (*_, text) = translator.translate_with_prefix(**inputs)["translation"].numpy()
    tokens = translator.target_ops.tokenize(tf.constant([text]))
    assert tokens.shape[1] > longest


def call_from_c(directory: Path, calls: list[tuple[str, dict[str, list[bytes]]]]) -> list[Any]:
    """Calls signatures through the C API, in a process of its own."""
    requests = []
    for signature, arguments in calls:
        inputs, outputs = read_signature(directory, signature)
        texts = {inputs[name]: [t.decode("latin-1") for t in arguments[name]] for name in arguments}
        requests.append({"inputs": texts, "outputs": dict(outputs.values())})
    site_packages = Path(tf.__file__).parents[1]
    command = [sys.executable, c_api.__file__, str(directory), str(site_packages)]
    done = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    return [
        {
            name: answer[tensor]
            for name, (tensor, _) in read_signature(directory, signature)[1].items()
        }
        for (signature, _), answer in zip(calls, answers, strict=True)
    ]


def test_the_c_api_alone_translates_any_text(translator: Translator, saved_model: Path) -> None:
    batches = [[], WILD[:1], WILD]
    calls: list[tuple[str, dict[str, list[bytes]]]] = [
        ("serving_default", {"text": batch}) for batch in batches
    ]
    calls.append(("score", {"text": WILD, "translation": WILD[::-1]}))
    calls.append(("translate_with_prefix", {"text": WILD, "prefix": [b""] * len(WILD)}))
    calls.append(("translate_nbest", {"text": WILD}))
    calls.append((WITH_ALIGNMENTS, {"text": WILD}))
    *translated, scored, prefixed, several, aligned = call_from_c(saved_model, calls)
    expected = translator.translate(tf.constant(WILD))
    for batch, received in zip(batches, translated, strict=True):
        texts = [text.encode("latin-1") for text in received["translation"]]
        assert texts == expected["translation"].numpy().tolist()[: len(batch)]
        np.testing.assert_allclose(received["score"], expected["score"][: len(batch)], rtol=1e-4)
    wanted = translator.score_pairs(tf.constant(WILD), tf.constant(WILD[::-1]))
    np.testing.assert_allclose(scored["log_probability"], wanted["log_probability"], rtol=1e-4)
    assert prefixed["translation"] == translated[-1]["translation"]
    assert several["translations"][::2] == translated[-1]["translation"]
    assert aligned["translation"] == translated[-1]["translation"]
    aligning = AligningTranslator(translator)
    ours = aligning.translate(tf.constant(WILD))
    assert [links.encode() for links in aligned["alignment"]] == ours["alignment"].numpy().tolist()
    np.testing.assert_allclose(
        np.reshape(aligned["word_confidence"], (len(WILD), -1)), ours["word_confidence"], atol=1e-4
    )


def test_the_c_api_alone_makes_trees_over_the_words(parser: Translator, tmp_path: Path) -> None:
    directory = tmp_path / "parser"
    signatures = ["serving_default", "translate_nbest"]
    save_translator(parser, directory, weights="float32", signatures=signatures)
    calls: list[tuple[str, dict[str, list[bytes]]]] = [
        (signature, {"text": WILD}) for signature in signatures
    ]
    best, several = call_from_c(directory, calls)
    expected = parser.translate(tf.constant(WILD))
    trees = [text.encode("latin-1") for text in best["translation"]]
    assert trees == expected["translation"].numpy().tolist()
    assert best["is_repaired"] == expected["is_repaired"].numpy().tolist()
    assert several["translations"][::2] == best["translation"]
    for tree, text in zip(trees, WILD, strict=True):
        words = text.decode("utf-8", "replace").encode().split()
        assert len(parse(tree.decode()).words if tree else ()) == len(words)


def test_warm_up_requests_are_what_tf_serving_reads(saved_model: Path) -> None:
    serving = pytest.importorskip(
        "tensorflow_serving.apis.prediction_log_pb2",
        reason="needs tensorflow-serving-api: pip install '.[serving]'",
    )
    seen = set()
    for record in read_records(str(saved_model / warmup.PATH)):
        request = serving.PredictionLog.FromString(record).predict_log.request
        signature = request.model_spec.signature_name
        inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
        load_saved_model(str(saved_model), signature)(**inputs)
        seen.add(signature)
    assert seen == {*SIGNATURES}


def test_a_warm_up_request_is_packed_as_protocol_buffers_are() -> None:
    """By hand from the .proto files, field by field."""
    value = tf.make_tensor_proto(tf.constant([7])).SerializeToString()
    entry = b"\x0a\x01x" + b"\x12" + bytes([len(value)]) + value  # key = 1, value = 2
    request = b"\x0a\x03\x1a\x01s" + b"\x12" + bytes([len(entry)]) + entry  # spec = 1, inputs = 2
    log = b"\x0a" + bytes([len(request)]) + request  # request = 1
    content = warmup.warmup_requests({"s": {"x": tf.constant([7])}})
    assert content[12:-4] == b"\x32" + bytes([len(log)]) + log  # predict_log = 6
