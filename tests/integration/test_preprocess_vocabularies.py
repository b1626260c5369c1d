"""Datasets of one or two vocabularies, learned or made elsewhere."""

import dataclasses
import hashlib
from pathlib import Path

import pytest

from pipeline import card
from pipeline.blocks.inventory import OUR_NAMES
from pipeline.common.errors import UserError
from pipeline.dataset.schema import SIDES, Dataset
from pipeline.subwords.encoding import load_subwords
from tests.helpers.preprocessing import build, configure, contents, read_pairs


@pytest.fixture(scope="module")
def separate(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A dataset whose sides have a vocabulary each."""
    tmp_path = tmp_path_factory.mktemp("separate")
    return build(configure(tmp_path, "out", shared_vocabulary=False, vocabulary_size=310))


def test_each_side_has_the_subwords_of_its_own_words(separate: Dataset) -> None:
    assert [separate.vocabularies[side].size for side in SIDES] == [310, 310]
    files = [separate.vocabularies[side].path for side in SIDES]
    assert files == ["subwords.source.model", "subwords.target.model"]
    assert set(files) <= set(OUR_NAMES)  # else an unfinished run would leave them behind
    source, target = (load_subwords(separate.path(file)) for file in files)
    english, german = source.pieces(range(310)), target.pieces(range(310))
    assert "▁and" in english and "▁and" not in german
    assert "▁und" in german and "▁und" not in english


def test_every_pair_comes_back_from_its_two_vocabularies(separate: Dataset) -> None:
    pairs = read_pairs(separate, "train")
    assert len(pairs) == 460
    assert all("laufen." in target and "run." in source for source, target in pairs)


def test_the_card_tells_both_sizes_and_shows_both_sides(separate: Dataset) -> None:
    text = card.format_card(separate, samples=1)
    assert "English → German, 310 and 310 bpe subwords" in text
    for side in SIDES:
        vocabulary = separate.vocabularies[side]
        row = f"  {vocabulary.path}  310  SHA-256 {vocabulary.sha256[:16]}…  learned here\n"
        assert row in text
    samples = text.partition("Samples of train")[2]
    assert "▁run" in samples and "▁laufen" in samples


def test_separate_wordpieces_make_a_dataset(tmp_path: Path) -> None:
    config = configure(
        tmp_path, "out", subwords="wordpiece", shared_vocabulary=False, vocabulary_size=35
    )
    dataset = build(config)
    assert dataset.vocabularies["source"].path == "subwords.source.vocab"
    assert len(read_pairs(dataset, "train")) == 460


def test_a_second_corpus_is_encoded_with_the_subwords_of_the_first(tmp_path: Path) -> None:
    first = build(configure(tmp_path, "first"))
    model = first.path("subwords.model")
    config = configure(
        tmp_path, "second", subwords_model=(model,), vocabulary_size=None, max_length=40
    )
    second = build(config)
    assert second.vocabularies == first.vocabularies
    assert Path(second.path("subwords.model")).read_bytes() == Path(model).read_bytes()
    assert sorted(read_pairs(second, "train")) == sorted(read_pairs(first, "train"))
    assert f"…  {model}\n" in card.format_card(second, samples=0)


def test_given_subwords_of_each_side_stay_on_their_side(separate: Dataset, tmp_path: Path) -> None:
    models = tuple(separate.path(separate.vocabularies[side].path) for side in SIDES)
    config = configure(
        tmp_path, "out", subwords_model=models, shared_vocabulary=False, vocabulary_size=310
    )
    assert build(config).vocabularies == separate.vocabularies


def test_work_with_a_model_that_has_changed_since_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "subwords.model"
    old, new = (
        Path(build(configure(tmp_path, f"of-{size}", vocabulary_size=size)).path(model.name))
        for size in (300, 310)
    )
    config = configure(tmp_path, "out", subwords_model=(str(model),), vocabulary_size=None)
    model.write_bytes(old.read_bytes())
    monkeypatch.setattr("pipeline.build.staging.Staging.publish", stop)
    with pytest.raises(KeyboardInterrupt):
        build(config)
    monkeypatch.undo()
    model.write_bytes(new.read_bytes())
    dataset = build(config)
    digest = hashlib.sha256(new.read_bytes()).hexdigest()
    assert dataset.vocabularies["source"].sha256 == digest
    again = build(dataclasses.replace(config, output_dir=str(tmp_path / "again")))
    assert contents(dataset.directory) == contents(again.directory)


def stop(_: object) -> None:
    raise KeyboardInterrupt


def test_subwords_that_cannot_be_used_are_refused_before_any_work(tmp_path: Path) -> None:
    config = configure(tmp_path, "out", subwords_model=(str(tmp_path / "none.model"),))
    with pytest.raises(UserError, match="no file .*none.model"):
        build(config)
    assert not (tmp_path / "out").exists()


def test_the_target_can_have_a_size_of_its_own(tmp_path: Path) -> None:
    config = configure(
        tmp_path, "out", shared_vocabulary=False, vocabulary_size=310, target_vocabulary_size=305
    )
    dataset = build(config)
    assert [dataset.vocabularies[side].size for side in SIDES] == [310, 305]
    models = tuple(dataset.path(dataset.vocabularies[side].path) for side in SIDES)
    wrong = dataclasses.replace(
        config,
        output_dir=str(tmp_path / "again"),
        subwords_model=models,
        target_vocabulary_size=300,
    )
    with pytest.raises(UserError, match="305 subwords, received --target_vocabulary_size=300"):
        build(wrong)


def test_a_size_of_the_target_requires_its_own_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected --shared_vocabulary=false as well"):
        configure(tmp_path, "out", target_vocabulary_size=305)
