import dataclasses
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from model.config import SearchConfig, TransformerConfig
from model.transformer import Transformer
from pipeline.common.errors import UserError
from pipeline.dataset.schema import END_ID, PADDING_ID, Dataset
from pipeline.dataset.tree_repair import repair
from tests.helpers.datasets import VOCABULARY_SIZE
from trainer.config import TrainingConfig
from trainer.inference.batching import translate_all
from trainer.inference.translator import Translator, load_translator, make_translator
from trainer.runs.checkpoints import save_checkpoint, take_snapshot
from trainer.runs.run_directory import Run, open_run
from trainer.runs.trained_model import TrainedModel, TrainedModels
from trainer.training.train_step import TrainingModel

BEAM_SIZE = 2
WILD = [
    b"The old dog sleeps.",
    b"",
    b" \t\r\n ",
    b"x" * 10_000,
    b"word " * 2_000,
    b"caf\xe9 \xff\xfe \xc3",
    "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467".encode(),
    b"\x00\x01\x07 bell \x1b[31m",
    "\u200b\ufeff\u2028\u202e".encode(),
]
SENTENCES = ["The old dog sleeps.", "", "Why?", "  An \u00fcber   cat \U0001f600 sings loudly. "]


def test_the_empty_string_is_translated_too(translator: Translator) -> None:
    translations = translate_all(translator.translate, SENTENCES)
    assert len(translations) == len(SENTENCES)
    assert all(np.isfinite(translation.score) for translation in translations)
    assert translate_all(translator.translate, []) == []


def test_a_translation_does_not_depend_on_its_neighbours(translator: Translator) -> None:
    together = translate_all(translator.translate, SENTENCES)
    for sentence, expected in zip(SENTENCES, together, strict=True):
        (alone,) = translate_all(translator.translate, [sentence])
        assert alone.text == expected.text
        assert alone.score == pytest.approx(expected.score, rel=1e-4)


def test_a_translation_is_the_best_of_the_search(translator: Translator) -> None:
    source = translator.source_ops.tokenize(tf.constant(SENTENCES[:1]))
    found = translator.search_ids(source)
    result = translator.translate(tf.constant(SENTENCES[:1]))
    best = [id for id in found.tokens[0, 0].numpy().tolist() if id not in (END_ID, PADDING_ID)]
    text = translator.target_ops.detokenize(tf.constant([best])).numpy()[0]
    assert result["translation"].numpy()[0] == text
    assert float(result["score"][0]) == pytest.approx(float(found.scores[0, 0]), rel=1e-5)
    assert float(found.scores[0, 0]) >= float(found.scores[0, 1])


def test_a_parser_gives_the_symbols_of_the_search_as_repaired_trees(parser: Translator) -> None:
    sentences = [" ".join(sentence.split()) for sentence in SENTENCES]
    found = parser.search_ids(parser.source_ops.tokenize(tf.constant(sentences))).tokens
    symbols = [text.decode() for text in parser.target_ops.detokenize(found[:, 0]).numpy()]
    trees = [
        repair(line.split(), sentence.split())
        for line, sentence in zip(symbols, sentences, strict=True)
    ]
    translations = translate_all(parser.translate, sentences)
    assert [translation.text for translation in translations] == [tree.brackets() for tree in trees]
    changed = [" ".join(tree.symbols) != line for tree, line in zip(trees, symbols, strict=True)]
    assert [translation.is_repaired for translation in translations] == changed
    assert any(changed)
    several = translate_all(parser.translate_nbest, sentences)
    assert [translation.n_best[0][0] for translation in several] == [
        translation.text for translation in translations
    ]
    assert [translation.is_repaired for translation in several] == changed


def test_the_output_is_at_most_so_much_longer_than_the_source(translator: Translator) -> None:
    source = tf.constant([[5, 6, 7, END_ID], [5, END_ID, PADDING_ID, PADDING_ID]])
    tokens = translator.search_ids(source).tokens.numpy()
    lengths = (tokens != PADDING_ID).sum(axis=-1)
    assert (lengths[0] <= 4 + translator.search.extra_length).all()
    assert (lengths[1] <= 2 + translator.search.extra_length).all()


def test_ids_translate_as_their_text(translator: Translator) -> None:
    by_text = translator.translate_nbest(tf.constant(SENTENCES))
    by_ids = translator.translate_ids(translator.source_ops.tokenize(tf.constant(SENTENCES)))
    np.testing.assert_allclose(by_ids["scores"], by_text["scores"], rtol=1e-4)
    for number in range(BEAM_SIZE):
        texts = translator.target_ops.detokenize(by_ids["translations"][:, number])
        assert texts.numpy().tolist() == by_text["translations"][:, number].numpy().tolist()


def test_the_first_of_the_n_best_is_the_translation(translator: Translator) -> None:
    best = translator.translate(tf.constant(SENTENCES))
    several = translator.translate_nbest(tf.constant(SENTENCES))
    assert several["translations"].shape == (len(SENTENCES), BEAM_SIZE)
    assert several["translations"][:, 0].numpy().tolist() == best["translation"].numpy().tolist()
    np.testing.assert_allclose(several["scores"][:, 0], best["score"], rtol=1e-5)
    scores = several["scores"].numpy()
    assert (scores[:, 0] > scores[:, 1]).all()


def test_as_many_are_given_as_are_asked_for(translator: Translator) -> None:
    every, two = (
        Translator(
            translator.transformer,
            translator.source_ops,
            translator.target_ops,
            dataclasses.replace(translator.search, beam_size=3, n_best=n_best),
        )
        for n_best in (1, 2)
    )
    found = two.translate_nbest(tf.constant(SENTENCES))
    assert found["translations"].shape == (len(SENTENCES), 2)
    expected = every.translate_nbest(tf.constant(SENTENCES))
    assert expected["translations"].shape == (len(SENTENCES), 3)
    np.testing.assert_allclose(found["scores"], expected["scores"][:, :2], rtol=1e-5)
    assert two.translate_ids(tf.constant([[5, END_ID]]))["translations"].shape[1] == 2


def test_n_best_tell_what_was_cut(translator: Translator) -> None:
    too_long = tf.constant(["a " * 400, "a"])
    cut = translator.translate_nbest(too_long)["source_tokens_cut"].numpy().tolist()
    assert cut == translator.translate(too_long)["source_tokens_cut"].numpy().tolist()
    assert cut[0] > cut[1] == 0


def test_a_score_is_the_sum_of_the_model_s_log_probabilities(translator: Translator) -> None:
    text, translation = tf.constant(["Why?", "A dog."]), tf.constant(["Warum?", "Ein Hund."])
    received = translator.score_pairs(text, translation)
    source, target = (translator.source_ops.tokenize(side) for side in (text, translation))
    log_probs = tf.nn.log_softmax(translator.transformer(source, target)).numpy()
    for row, ids in enumerate(target.numpy()):
        length = int((ids != PADDING_ID).sum())
        expected = sum(log_probs[row, position, ids[position]] for position in range(length))
        penalty = ((5 + length) / 6) ** translator.search.length_penalty
        assert int(received["tokens"][row]) == length
        assert float(received["log_probability"][row]) == pytest.approx(expected, rel=1e-4)
        assert float(received["score"][row]) == pytest.approx(expected / penalty, rel=1e-4)


def test_of_a_translation_too_long_the_beginning_is_scored(translator: Translator) -> None:
    longest = translator.search.max_source_length + translator.search.extra_length
    fitting = " ".join(["a"] * (longest - 1))
    scored = translator.score_pairs(
        tf.constant(["Why?"] * 2), tf.constant([fitting, f"{fitting} a a"])
    )
    assert scored["tokens"].numpy().tolist() == [longest, longest]
    whole, cut = scored["log_probability"].numpy()
    assert whole == pytest.approx(cut, rel=1e-5)


def test_an_ensemble_scores_by_the_mean_of_probabilities(translator: Translator) -> None:
    other = Transformer(translator.transformer.config, VOCABULARY_SIZE)
    ops = translator.source_ops
    ensemble = Translator(translator.transformer, ops, ops, translator.search, [other])
    text, translation = tf.constant(["Why?", "A dog."]), tf.constant(["Warum?", "Ein Hund."])
    ids = ops.tokenize(text), ops.tokenize(translation)
    models = (translator.transformer, other)
    first, second = (np.exp(model.token_log_probs(*ids)) for model in models)
    expected = np.log((first + second) / 2).sum(axis=1)
    received = ensemble.score_pairs(text, translation)["log_probability"]
    np.testing.assert_allclose(received, expected, rtol=1e-4)


def test_blank_sentences_have_blank_translations(translator: Translator) -> None:
    blank = tf.constant(["", "  ", "\t\n", "Why?"])
    result = translator.translate(blank)
    assert result["translation"].numpy().tolist()[:3] == [b"", b"", b""]
    assert result["translation"].numpy()[3] != b""
    assert (result["score"].numpy() < 0).all()
    several = translator.translate_nbest(blank)
    assert several["scores"].numpy()[:3, 1].tolist() == [-1e9] * 3


def test_what_is_too_long_is_cut_and_counted(translator: Translator) -> None:
    longest = translator.search.max_source_length
    fitting = " ".join(["a"] * (longest - 1))
    ids = translator.source_ops.tokenize(tf.constant([fitting])).numpy()
    assert ids.shape == (1, longest)
    result = translator.translate(tf.constant([fitting, f"{fitting} a a", "a"]))
    assert result["source_tokens_cut"].numpy().tolist() == [0, 2, 0]
    assert result["translation"][0] == result["translation"][1]
    (translation,) = translate_all(translator.translate, [f"{fitting} a a"])
    assert translation.source_tokens_cut == 2


@pytest.mark.parametrize("number", [0, 1, 256])
def test_any_text_in_a_batch_of_any_size_is_translated_as_alone(
    translator: Translator, number: int
) -> None:
    batch = [WILD[row % len(WILD)] for row in range(number)]
    result = translator.translate(tf.constant(batch, tf.string))
    scored = translator.score_pairs(tf.constant(batch, tf.string), result["translation"])
    assert translator.translate_nbest(tf.constant(batch, tf.string))["scores"].shape[0] == number
    assert scored["log_probability"].shape == (number,)
    for row in range(min(number, len(WILD))):
        alone = translator.translate(tf.constant(WILD[row : row + 1]))
        assert result["translation"][row] == alone["translation"][0], WILD[row][:20]
        assert float(result["score"][row]) == pytest.approx(float(alone["score"][0]), rel=1e-4)
        assert result["translation"].numpy()[row].decode("utf-8") is not None
    assert np.isfinite(result["score"]).all()
    assert np.isfinite(scored["log_probability"]).all()


def test_a_translation_begins_with_its_prefix(translator: Translator) -> None:
    prefixes = ["Der alte Hund", "", "  \t", "Was "]
    received = translate_all(translator.translate_with_prefix, SENTENCES, prefixes)
    free = translate_all(translator.translate, SENTENCES)
    for row, prefix in enumerate(prefixes):
        assert received[row].text.startswith(prefix.strip())
        alone = translator.translate_with_prefix(
            tf.constant(SENTENCES[row : row + 1]), tf.constant(prefixes[row : row + 1])
        )
        assert alone["translation"].numpy()[0].decode() == received[row].text
        if not prefix.strip():
            assert received[row].text == free[row].text
            assert received[row].score == pytest.approx(free[row].score, rel=1e-4)
    assert received[0].text != free[0].text


def test_a_prefix_has_the_scores_of_search(translator: Translator) -> None:
    prefix = tf.constant(["Ein Hund"])
    received = translator.translate_with_prefix(tf.constant([""]), prefix)
    assert received["translation"].numpy()[0] == b"Ein Hund"  # of nothing, nothing follows
    scored = translator.score_pairs(tf.constant([""]), prefix)
    assert float(received["score"][0]) == pytest.approx(float(scored["score"][0]), rel=1e-4)


def test_of_a_prefix_too_long_the_beginning_counts(translator: Translator) -> None:
    longest = translator.search.max_source_length
    prefix = tf.constant([" ".join(["a"] * (longest + 9))])
    received = translator.translate_with_prefix(tf.constant([""]), prefix)
    assert received["translation"].numpy()[0].decode().split() == ["a"] * longest


@pytest.mark.parametrize("number", [0, 1, 9])
def test_any_prefix_will_do(translator: Translator, number: int) -> None:
    text, prefix = (tf.constant(texts[:number], tf.string) for texts in (WILD[::-1], WILD))
    result = translator.translate_with_prefix(text, prefix)
    assert result["translation"].shape == (number,)
    assert np.isfinite(result["score"]).all()


def test_a_run_is_loaded_with_the_weights_asked_for(
    make_run: Callable[..., Run],
    make_training_model: Callable[..., TrainingModel],
    tiny_dataset: Dataset,
) -> None:
    run = make_run()
    os.makedirs(run.directory)
    shutil.copy(tiny_dataset.path("subwords.model"), run.directory)
    training_model = make_training_model()
    for step in (1, 2):
        training_model.transformer.embedding.matrix.assign_add(tf.ones((VOCABULARY_SIZE, 16)))
        save_checkpoint(
            run.directory, take_snapshot(training_model), step=step, train_seconds=0.0, keep=5
        )
    search = SearchConfig(beam_size=3)
    last, checkpoint = load_translator(run, TrainedModel(checkpoint="last"), search)
    first, _ = load_translator(run, TrainedModel(checkpoint="1"), search)
    assert checkpoint.step == 2
    assert last.search == search
    matrix = training_model.transformer.embedding.matrix.numpy()
    np.testing.assert_array_equal(last.transformer.embedding.matrix, matrix)
    np.testing.assert_allclose(first.transformer.embedding.matrix, matrix - 1, atol=1e-6)


def test_a_loaded_model_is_optimized_for_search_and_translates_alike(
    make_run: Callable[..., Run],
    make_training_model: Callable[..., TrainingModel],
    tiny_transformer: TransformerConfig,
    tiny_dataset: Dataset,
) -> None:
    config = dataclasses.replace(tiny_transformer, feed_forward_dim=512)
    run, training_model = make_run(config), make_training_model(config)
    os.makedirs(run.directory)
    shutil.copy(tiny_dataset.path("subwords.model"), run.directory)
    save_checkpoint(run.directory, take_snapshot(training_model), step=1, train_seconds=0.0, keep=1)
    loaded, _ = load_translator(run, TrainedModel(), run.search)
    trained = make_translator(run, training_model.transformer)
    linears = (
        model.transformer.encoder.layers[0].feed_forward.inner for model in (loaded, trained)
    )
    assert [linear.kernel.shape[1] for linear in linears] == [528, 512]
    text = tf.constant(["Der Hund schläft.", "", "Sie singt."])
    for name in ("translation", "score"):
        ours, theirs = (model.translate(text)[name].numpy() for model in (loaded, trained))
        assert ours.tolist() == (
            theirs.tolist() if name == "translation" else pytest.approx(theirs)
        )


@pytest.fixture
def two_runs(
    tmp_path: Path,
    make_training_model: Callable[..., TrainingModel],
    tiny_transformer: TransformerConfig,
    tiny_dataset: Dataset,
) -> list[Run]:
    """Two runs with checkpoints of steps 1 and 2; all embeddings are run + step / 10."""
    runs, training_model = [], make_training_model()
    for number in (1, 2):
        training = TrainingConfig(
            dataset_dir=str(tiny_dataset.directory), run_dir=str(tmp_path / f"run-{number}")
        )
        runs.append(open_run(tiny_transformer, training, SearchConfig(), tiny_dataset))
        for step in (1, 2):
            training_model.transformer.embedding.matrix.assign(
                tf.fill((VOCABULARY_SIZE, 16), number + step / 10)
            )
            save_checkpoint(
                runs[-1].directory,
                take_snapshot(training_model),
                step=step,
                train_seconds=0.0,
                keep=5,
            )
    return runs


def test_an_ensemble_has_that_checkpoint_of_every_run(two_runs: list[Run]) -> None:
    first, second = (str(run.directory) for run in two_runs)
    models = TrainedModels(first, "1", (second,))
    loaded, checkpoint = load_translator(two_runs[0], models, SearchConfig())
    assert checkpoint.path.parents[1] == two_runs[0].directory
    values = [np.unique(model.embedding.matrix.numpy()).tolist() for model in loaded.models]
    np.testing.assert_allclose(values, [[1.1], [2.1]], rtol=1e-6)


def test_an_ensemble_of_another_direction_is_refused(two_runs: list[Run]) -> None:
    first, second = two_runs
    changed = dataclasses.replace(first, data=dataclasses.replace(first.data, source_language="fr"))
    models = TrainedModels(str(first.directory), "1", (str(second.directory),))
    with pytest.raises(UserError, match="run-2 is en → de, .*run-1 is fr → de"):
        load_translator(changed, models, SearchConfig())


@pytest.mark.parametrize("counts", [(1, 2), (2, 1)])
def test_texts_that_do_not_belong_together_are_refused(
    translator: Translator, counts: tuple[int, int]
) -> None:
    one, other = (tf.constant(["Der Hund"] * count) for count in counts)
    for translate in (translator.translate_with_prefix, translator.score_pairs):
        with pytest.raises(tf.errors.InvalidArgumentError, match="as many strings in one input"):
            translate(one, other)


def test_an_ensemble_of_different_subwords_is_refused(two_runs: list[Run]) -> None:
    first, second = two_runs
    vocabularies = dict(first.data.vocabularies)
    vocabularies["target"] = dataclasses.replace(vocabularies["target"], sha256="f00")
    data = dataclasses.replace(first.data, vocabularies=vocabularies)
    changed = dataclasses.replace(first, data=data)
    models = TrainedModels(str(first.directory), "1", (str(second.directory),))
    with pytest.raises(UserError, match=r"--ensemble: .*run-2 has other subwords than .*run-1"):
        load_translator(changed, models, SearchConfig())
