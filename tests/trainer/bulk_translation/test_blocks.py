import dataclasses
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

from model.config import AlignmentConfig, SearchConfig
from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.corpora.spans import Span
from trainer.bulk_translation.blocks import (
    BESIDE,
    Model,
    TextBlock,
    check_output,
    join_parts,
    list_blocks,
    to_text,
    translate_block,
    translate_lines,
)
from trainer.inference.batching import Translate
from trainer.runs.checkpoints import save_checkpoint, take_snapshot
from trainer.runs.run_directory import Run
from trainer.runs.trained_model import TrainedModels
from trainer.training.train_step import TrainingModel

LINES = ["b", "", "ccc ccc", "a\u2028a\r", "\u00e4\u0085 x", "b", "last"]


class StoredModel(Model):
    """A model whose weights are a word."""

    def identity(self) -> bytes:
        return self.trained.run_dir.encode()


def shout(text: tf.Tensor) -> dict[str, tf.Tensor]:
    """Stands in for a model: upper case, and a line end where there was a ccc."""
    count = tf.zeros(tf.shape(text), tf.int32)
    upper = tf.strings.regex_replace(tf.strings.upper(text, encoding="utf-8"), "CCC ", "CCC\n")
    return {"translation": upper, "score": tf.cast(count, tf.float32), "source_tokens_cut": count}


@pytest.fixture
def text(tmp_path: Path) -> str:
    (tmp_path / "in").write_bytes("".join(f"{line}\n" for line in LINES).encode())
    return str(tmp_path / "in")


@pytest.fixture
def parts(tmp_path: Path) -> str:
    (tmp_path / "out.parts").mkdir()
    return str(tmp_path / "out.parts")


def names(text: str, model: Model) -> list[str]:
    return [block.name for block in list_blocks([text], 2, model)]


@pytest.mark.parametrize("block_lines", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("last_end", ["\n", ""])
def test_parts_in_order_are_the_translation(
    tmp_path: Path, parts: str, block_lines: int, last_end: str
) -> None:
    (tmp_path / "in").write_bytes(("\n".join(LINES) + last_end).encode())
    blocks = list_blocks([str(tmp_path / "in")], block_lines, StoredModel(None))
    assert sum(block.lines for block in blocks) == len(LINES)
    assert max(block.lines for block in blocks) <= block_lines
    for block in reversed(blocks):
        translate_block(block, parts, shout)
    join_parts(blocks, parts, str(tmp_path / "out"))
    expected = [line.upper() for line in LINES]  # and no line end within CCC CCC
    assert (tmp_path / "out").read_bytes().decode().split("\n") == [*expected, ""]
    assert not Path(parts).exists()


def shout_twice(text: tf.Tensor) -> dict[str, tf.Tensor]:
    """Stands in for a model that gives several translations, but one alone of a blank sentence."""
    one = shout(text)
    second = tf.where(text == "", -1e9, -2.5)
    return {
        "translations": tf.stack([one["translation"], tf.strings.lower(text)], axis=1),
        "scores": tf.stack([-tf.ones_like(second), second], axis=1),
        "source_tokens_cut": one["source_tokens_cut"],
    }


@pytest.mark.parametrize("block_lines", [1, 3, 100])
def test_several_translations_are_lines_with_the_number_of_their_sentence(
    tmp_path: Path, parts: str, text: str, block_lines: int
) -> None:
    blocks = list_blocks([text], block_lines, StoredModel(None))
    for block in blocks:
        translate_block(block, parts, shout_twice)
    join_parts(blocks, parts, str(tmp_path / "out"))
    lines = (tmp_path / "out").read_bytes().decode().split("\n")
    assert lines[:4] == ["0 ||| B ||| -1.0000", "0 ||| b ||| -2.5000", "1 |||  ||| -1.0000",
                         "2 ||| CCC CCC ||| -1.0000"]  # fmt: skip
    assert lines[-3:] == ["6 ||| LAST ||| -1.0000", "6 ||| last ||| -2.5000", ""]


def shout_aligned(text: tf.Tensor) -> dict[str, tf.Tensor]:
    """Stands in for a model that aligns, and gives two translations of each sentence."""
    count = tf.size(text)
    return shout_twice(text) | {
        "alignment": tf.tile([["0-0 1-1", "1-0"]], (count, 1)),
        "word_confidence": tf.tile([[[0.5, 0.25], [1.0, 0.0]]], (count, 1, 1)),
    }


@pytest.mark.parametrize(
    ("beside", "fields"),
    [
        (BESIDE, ["0-0 1-1 ||| 0.5000 0.2500", "1-0 ||| 1.0000 0.0000"]),
        (BESIDE[:1], ["0-0 1-1", "1-0"]),
        (BESIDE[1:], ["0.5000 0.2500", "1.0000 0.0000"]),
    ],
)
def test_what_is_known_of_words_is_written_after_each_translation(
    monkeypatch: pytest.MonkeyPatch, beside: tuple[str, ...], fields: list[str]
) -> None:
    monkeypatch.setattr(
        "trainer.exporters.saved_model.load_saved_model", lambda *given: shout_aligned
    )
    translations = translate_lines([["ccc ccc"]], Model("model", beside=beside).load())
    scored = ["7 ||| CCC CCC ||| -1.0000 ||| ", "7 ||| ccc ccc ||| -2.5000 ||| "]
    expected = [before + field for before, field in zip(scored, fields, strict=True)]
    assert to_text(translations, 7).decode().splitlines() == expected
    best = [translation._replace(n_best=()) for translation in translations]
    assert to_text(best, 7).decode() == f"CCC CCC ||| {fields[0]}\n"


def test_equal_lines_at_other_places_have_blocks_of_other_names(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("x\n" * 6)
    twos, fours = (
        {block.name for block in list_blocks([str(tmp_path / "in")], lines, StoredModel(None))}
        for lines in (2, 4)
    )
    assert twos & fours == {max(twos)} == {max(fours)}  # the fifth line and the sixth


def test_an_empty_file_has_an_empty_translation(tmp_path: Path, parts: str) -> None:
    (tmp_path / "in").touch()
    blocks = list_blocks([str(tmp_path / "in")], 2, StoredModel(None))
    assert blocks == []
    join_parts(blocks, parts, str(tmp_path / "out"))
    assert (tmp_path / "out").read_bytes() == b""


def test_an_output_that_exists_is_refused_unless_it_was_being_written(text: str) -> None:
    check_output(f"{text}.new", begun=False)
    check_output(text, begun=True)
    with pytest.raises(UserError, match="exists: delete it"):
        check_output(text, begun=False)


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("name", ["", "new/"])
def test_an_output_that_is_a_folder_is_refused(tmp_path: Path, begun: bool, name: str) -> None:
    with pytest.raises(UserError, match="is a folder"):
        check_output(f"{tmp_path}/{name}", begun=begun)


def test_a_changed_line_changes_its_block_s_name_alone(text: str) -> None:
    before = names(text, StoredModel(None))
    content = Path(text).read_bytes()
    Path(text).write_bytes(content.replace(b"ccc ccc", b"ddd"))
    after = names(text, StoredModel(None))
    assert [one == other for one, other in zip(before, after, strict=True)] == [1, 0, 1, 1]


def prefixed(text: tf.Tensor, prefix: tf.Tensor) -> dict[str, tf.Tensor]:
    """Stands in for a model that takes prefixes."""
    return shout(tf.strings.join([prefix, text], "|"))


@pytest.fixture
def prefixes(tmp_path: Path) -> str:
    (tmp_path / "prefixes").write_text("".join(f"{row}\n" for row in "1234567"))
    return str(tmp_path / "prefixes")


@pytest.mark.parametrize("block_lines", [2, 7])
def test_every_line_gets_the_prefix_of_its_number(
    tmp_path: Path, parts: str, text: str, prefixes: str, block_lines: int
) -> None:
    blocks = list_blocks([text, prefixes], block_lines, StoredModel(None))
    for block in blocks:
        translate_block(block, parts, prefixed)
    join_parts(blocks, parts, str(tmp_path / "out"))
    expected = [f"{row + 1}|{line.upper()}\n" for row, line in enumerate(LINES)]
    assert (tmp_path / "out").read_bytes().decode() == "".join(expected)


def test_a_changed_prefix_changes_its_block_s_name_alone(text: str, prefixes: str) -> None:
    before = [block.name for block in list_blocks([text, prefixes], 2, StoredModel(None))]
    Path(prefixes).write_text("1\n2\n3\nx\n5\n6\n7")
    after = [block.name for block in list_blocks([text, prefixes], 2, StoredModel(None))]
    assert [one == other for one, other in zip(before, after, strict=True)] == [1, 0, 1, 1]
    assert not {*before} & {*names(text, StoredModel(None))}


@pytest.mark.parametrize("block_lines", [1, 3, 4, 100])
def test_files_of_different_lengths_are_refused(text: str, prefixes: str, block_lines: int) -> None:
    Path(prefixes).write_text("1\n2\n3\n")
    expected = f"{prefixes} ends after line 3 and {text} goes on"
    for paths in ([text, prefixes], [prefixes, text]):
        with pytest.raises(UserError, match=expected):
            list_blocks(paths, block_lines, StoredModel(None))


def test_another_model_gives_every_block_another_name(text: str) -> None:
    one, other = (
        names(text, StoredModel(None, TrainedModels(weights))) for weights in ("one", "other")
    )
    assert not {*one} & {*other}


def test_what_is_no_utf_8_is_refused_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a\nb\nc\nd \xff\n")
    with pytest.raises(UserError, match=r"in, line 4: byte 0xff is not UTF-8; .*iconv"):
        list_blocks([str(tmp_path / "in")], 3, StoredModel(None))


@pytest.mark.parametrize("block_lines", [1, 2, 100])
def test_a_byte_order_mark_belongs_to_the_file_not_to_its_first_line(
    tmp_path: Path, parts: str, block_lines: int
) -> None:
    (tmp_path / "in").write_bytes("\ufeffa\nb\n\ufeffc\nd".encode())
    blocks = list_blocks([str(tmp_path / "in")], block_lines, StoredModel(None))
    for block in blocks:
        translate_block(block, parts, shout)
    join_parts(blocks, parts, str(tmp_path / "out"))
    assert (tmp_path / "out").read_text("utf-8") == "A\nB\n\ufeffC\nD\n"
    (tmp_path / "in").write_bytes("\ufeffa\nb\n".encode() + b"\xff\n")
    with pytest.raises(UserError, match=r"in, line 3: byte 0xff is not UTF-8"):
        list_blocks([str(tmp_path / "in")], block_lines, StoredModel(None))


def test_sentences_that_were_cut_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    def cut_first(text: tf.Tensor) -> dict[str, tf.Tensor]:
        return shout(text) | {"source_tokens_cut": tf.one_hot(0, tf.size(text), 3, dtype=tf.int32)}

    with caplog.at_level("WARNING"):
        translate_lines([["a", "b"]], shout)
        assert not caplog.messages
        translate_lines([["a", "b"]], cut_first)
    assert "longer than --max_source_length and cut there: 1 of 2 sentences" in caplog.text


def test_a_run_s_identity_is_its_weights_and_search(
    make_training_model: Callable[..., TrainingModel], make_run: Callable[..., Run]
) -> None:
    run, training_model = make_run(), make_training_model()
    save_checkpoint(run.directory, take_snapshot(training_model), step=1, train_seconds=0.0, keep=2)
    model = Model(None, TrainedModels(str(run.directory), "last"))
    identities = [model.identity(), model.identity()]
    identities.append(dataclasses.replace(model, search=SearchConfig(beam_size=2)).identity())
    identities.append(dataclasses.replace(model, beside=BESIDE).identity())
    other_layer = AlignmentConfig(alignment_layer=1)
    identities.append(dataclasses.replace(model, alignment=other_layer).identity())
    training_model.transformer.embedding.matrix.assign_add(
        tf.ones_like(training_model.transformer.embedding.matrix)
    )
    save_checkpoint(run.directory, take_snapshot(training_model), step=2, train_seconds=0.0, keep=2)
    identities.append(model.identity())
    assert [identity == identities[0] for identity in identities] == [True, True] + 4 * [False]
    ensemble = TrainedModels(str(run.directory), "last", (str(run.directory),))
    assert Model(None, ensemble).identity() != identities[-1]


def test_a_pinned_model_is_refused_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer.exporters.saved_model.load_saved_model", lambda *given: shout)
    (tmp_path / "saved_model.pb").touch()
    (tmp_path / "fingerprint.pb").write_bytes(b"1")
    model = Model(str(tmp_path)).pinned()
    assert model.load() is shout
    (tmp_path / "fingerprint.pb").write_bytes(b"2")
    with pytest.raises(UserError, match=f"the model in {tmp_path} has changed"):
        model.load()


def test_an_exported_model_is_loaded_by_the_signature_that_takes_what_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[tuple[str, str]] = []
    monkeypatch.setattr(
        "trainer.exporters.saved_model.load_saved_model", lambda *given: loaded.append(given)
    )
    Model("model").load()
    Model("model", with_prefixes=True).load()
    Model("model", beside=BESIDE).load()
    signatures = ["serving_default", "translate_with_prefix", "translate_with_alignments"]
    assert loaded == [("model", signature) for signature in signatures]


def test_the_identity_of_an_exported_model_depends_on_its_content(tmp_path: Path) -> None:
    identities = []
    for name, fingerprint in (("one", b"1"), ("copy", b"1"), ("other", b"2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "saved_model.pb").touch()
        (tmp_path / name / "fingerprint.pb").write_bytes(fingerprint)
        identities.append(Model(str(tmp_path / name)).identity())
    one, copy, other = identities
    assert one == copy != other


def test_beam_translates_every_block_once(
    tmp_path: Path, parts: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    from pipeline.stages.runners import make_options
    from trainer.bulk_translation.apache_beam_job import run_beam_job

    model = ShoutingModel(None)
    blocks = list_blocks([text], 2, model)
    options = make_options("DirectRunner", 1, [], [])
    run_beam_job(blocks[1:], parts, model, options)
    assert storage.entries(parts) == {block.name for block in blocks[1:]}
    assert "Resource module" not in caplog.text  # Beam's, where it has no torch
    run_beam_job(blocks[:1], parts, model, options)
    join_parts(blocks, parts, str(tmp_path / "out"))
    assert (tmp_path / "out").read_bytes().decode().split("\n")[:2] == ["B", ""]


def test_a_worker_of_beam_translates_one_batch_at_a_time(
    tmp_path: Path, parts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trainer.bulk_translation.apache_beam_job import TranslationHandler

    busy = threading.Lock()

    def shout_alone(text: tf.Tensor) -> dict[str, tf.Tensor]:
        assert busy.acquire(blocking=False)
        time.sleep(0.01)
        busy.release()
        return shout(text)

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    (tmp_path / "long").write_text("x\n" * 8 * 64)
    blocks = list_blocks([str(tmp_path / "long")], 8 * 64, StoredModel(None))
    handler = TranslationHandler(StoredModel(None), parts, {})
    assert list(handler.run_inference(blocks, shout_alone)) == [blocks[0].name]


class ShoutingModel(StoredModel):
    def load(self) -> Translate:
        return shout


def test_a_block_is_described_by_place_and_size(text: str) -> None:
    first, second, *_ = list_blocks([text], 2, StoredModel(None))
    assert first == TextBlock(first.name, (Span(text, 0, 3, text, 1),), 2, first=0)
    assert second == TextBlock(second.name, (Span(text, 3, 15, text, 3),), 2, first=2)


class SplittingModel(Model):
    """A model that splits lines, and shouts."""

    def _load(self) -> Callable[..., dict[str, tf.Tensor]]:
        return shout

    def _languages(self) -> tuple[str, str]:
        return "en", "de"


def test_lines_are_split_into_sentences_and_blank_lines_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "trainer.inference.documents.load_splitter", lambda language: lambda text: text.split("|")
    )
    model = SplittingModel(None, split_sentences=True)
    translations = translate_lines([["a b.| c|", "", "d"]], model.load())
    assert to_text(translations, 0) == b"A B. C\n\nD\n"
    whole = SplittingModel(None)
    assert to_text(translate_lines([["a|b"]], whole.load()), 0) == b"A|B\n"


def test_splitting_makes_other_parts(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").touch()
    (tmp_path / "fingerprint.pb").write_bytes(b"1")
    whole, split = (Model(str(tmp_path), split_sentences=split) for split in (False, True))
    assert whole.identity() != split.identity()
