import dataclasses
from typing import Any

import pytest

from pipeline.cleaning.rules import CleaningConfig
from pipeline.config import PreprocessConfig
from pipeline.corpora.corpus_config import CorpusConfig
from pipeline.corpora.languages import Languages
from trainer.evaluation.driver import EvaluationConfig


@pytest.mark.parametrize(
    "name", ["max_length", "block_lines", "num_workers", "holdout_pairs", "bpe_dropout_samples"]
)
def test_impossible_numbers_are_refused_by_name(name: str) -> None:
    impossible: dict[str, Any] = {name: -1}
    with pytest.raises(ValueError, match=f"received --{name}=-1: expected at least"):
        PreprocessConfig(**impossible)


def test_files_of_only_one_side_are_refused() -> None:
    with pytest.raises(ValueError, match="--dev_source_files=c: expected --dev_target_files"):
        PreprocessConfig(source_files=("a",), target_files=("b",), dev_source_files=("c",))


def test_dev_files_without_training_files_are_refused() -> None:
    with pytest.raises(ValueError, match="expected --source_files, --pair_files or --dataset"):
        PreprocessConfig(dev_source_files=("a",), dev_target_files=("b",))


def test_the_vocabulary_depends_on_the_corpus_unless_given() -> None:
    files = PreprocessConfig(source_files=("a",), target_files=("b",))
    assert files.resolved().vocabulary_size is None  # chosen once the pairs are counted
    assert PreprocessConfig().resolved().vocabulary_size == 2_000
    assert PreprocessConfig(subwords_model=("m",)).resolved().vocabulary_size is None
    assert PreprocessConfig(vocabulary_size=700).resolved().vocabulary_size == 700


@pytest.mark.parametrize("size", [-1, 0, 3, 260])
def test_a_vocabulary_without_room_for_words_is_refused(size: int) -> None:
    expected = f"received --vocabulary_size={size}: expected at least 261"
    with pytest.raises(ValueError, match=expected):
        PreprocessConfig(vocabulary_size=size)


def test_wordpieces_need_no_bytes() -> None:
    assert PreprocessConfig(vocabulary_size=6, subwords="wordpiece").vocabulary_size == 6
    with pytest.raises(ValueError, match="expected at least 6"):
        PreprocessConfig(vocabulary_size=5, subwords="wordpiece")


def test_the_languages_are_those_of_flags_data_sets_or_file_names() -> None:
    files = PreprocessConfig(source_files=("a.th",), target_files=("a.fr",))
    assert files.languages.codes == ("th", "fr")
    assert files.content()["source_language"] == "th"
    assert (files.rules.source_language, files.rules.target_language) == ("th", "fr")
    same = dataclasses.replace(files, source_language="th", target_language="fr")
    assert same.content() == files.content()
    named = PreprocessConfig(corpus=CorpusConfig(dataset="wmt14_en_fr"))
    assert named.languages.codes == ("en", "fr")
    assert PreprocessConfig().languages == Languages(("en", "de"))


def test_content_holds_the_cleaning_rules_flat() -> None:
    strict = PreprocessConfig(cleaning=CleaningConfig(drop_duplicates=True))
    assert strict.content()["drop_duplicates"] and "cleaning" not in strict.content()
    assert strict.content() != PreprocessConfig().content()


def test_content_leaves_out_paths_and_engines() -> None:
    plain = PreprocessConfig()
    moved = dataclasses.replace(plain, output_dir="x", num_workers=9, runner="FlinkRunner")
    assert moved.content() == plain.content()
    assert dataclasses.replace(plain, block_lines=7).content() != plain.content()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"encoding": ("nothing",)}, "--encoding=nothing: expected names that Python knows"),
        ({"encoding": ("a", "b", "c")}, "expected one encoding, or one for each side"),
        ({"encoding": ()}, "expected one encoding, or one for each side"),
        (
            {"encoding": ("latin-1", "utf-8"), "dev_pair_files": ("x.tsv",)},
            "expected one encoding, because some of the files hold both sides",
        ),
    ],
)
def test_impossible_encodings_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CorpusConfig(**fields)


def test_one_encoding_applies_to_both_sides() -> None:
    assert CorpusConfig(encoding=("cp1252",)).encodings == ("cp1252", "cp1252")
    assert CorpusConfig(encoding=("latin-1", "utf-8")).encodings == ("latin-1", "utf-8")


def test_named_data_sets_and_pair_files_replace_the_built_in_corpus() -> None:
    named = PreprocessConfig(corpus=CorpusConfig(dataset="wmt14_en_de"))
    tabled = PreprocessConfig(corpus=CorpusConfig(pair_files=("a/x.tsv.gz",)))
    assert (named.is_builtin, tabled.is_builtin, PreprocessConfig().is_builtin) == (0, 0, 1)
    assert (named.name, tabled.name, PreprocessConfig().name) == (
        "wmt14_en_de",
        "x.tsv.gz",
        "builtin",
    )


@pytest.mark.parametrize("field", ["dev_dataset", "test_dataset"])
def test_an_evaluation_set_requires_training_data(field: str) -> None:
    fields: dict[str, Any] = {field: "newstest2013"}
    with pytest.raises(ValueError, match="--source_files, --pair_files or --dataset as well"):
        PreprocessConfig(corpus=CorpusConfig(**fields))


def test_content_leaves_out_the_cache_directory() -> None:
    plain, moved = (
        PreprocessConfig(corpus=CorpusConfig(dataset="wmt14_en_de", cache_dir=folder))
        for folder in ("a", "b")
    )
    assert plain.content() == moved.content()
    assert plain.content()["dataset"] == "wmt14_en_de"


def test_evaluation_finds_what_preprocessing_downloaded() -> None:
    assert EvaluationConfig().cache_dir == CorpusConfig().cache_dir
