import dataclasses
from typing import Any

import pytest

from pipeline.cleaning.rules import CleaningConfig
from pipeline.config import PreprocessConfig


@pytest.mark.parametrize(
    "name", ["max_length", "block_lines", "num_workers", "holdout_pairs", "bpe_dropout_samples"]
)
def test_impossible_numbers_are_refused_by_name(name: str) -> None:
    impossible: dict[str, Any] = {name: -1}
    with pytest.raises(ValueError, match=f"received --{name}=-1: expected at least"):
        PreprocessConfig(**impossible)


def test_one_side_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="--dev_source_files=c: expected --dev_target_files"):
        PreprocessConfig(source_files=("a",), target_files=("b",), dev_source_files=("c",))


def test_dev_files_without_training_files_are_refused() -> None:
    with pytest.raises(ValueError, match="expected --source_files, --pair_files or --dataset"):
        PreprocessConfig(dev_source_files=("a",), dev_target_files=("b",))


def test_the_vocabulary_depends_on_the_corpus_unless_given() -> None:
    files = PreprocessConfig(source_files=("a",), target_files=("b",))
    assert files.resolved().vocabulary_size == 37_000
    wordpieces = dataclasses.replace(files, subwords="wordpiece")
    assert wordpieces.resolved().vocabulary_size == 32_000
    assert PreprocessConfig().resolved().vocabulary_size == 2_000
    assert PreprocessConfig(vocabulary_size=5).resolved().vocabulary_size == 5


def test_content_holds_the_cleaning_rules_flat() -> None:
    strict = PreprocessConfig(cleaning=CleaningConfig(drop_duplicates=True))
    assert strict.content()["drop_duplicates"] and "cleaning" not in strict.content()
    assert strict.content() != PreprocessConfig().content()


def test_content_leaves_out_where_and_how_fast() -> None:
    plain = PreprocessConfig()
    moved = dataclasses.replace(plain, output_dir="x", num_workers=9, runner="FlinkRunner")
    assert moved.content() == plain.content()
    assert dataclasses.replace(plain, block_lines=7).content() != plain.content()
