from typing import Any

import pytest

from pipeline.config import PreprocessConfig
from pipeline.corpus_config import CorpusConfig


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"encoding": ("nothing",)}, "--encoding=nothing: expected names that Python knows"),
        ({"encoding": ("a", "b", "c")}, "expected one encoding, or one for source and target each"),
        ({"encoding": ()}, "expected one encoding, or one for source and target each"),
        (
            {"encoding": ("latin-1", "utf-8"), "dev_pair_files": ("x.tsv",)},
            "expected one encoding, because some of the files hold both sides",
        ),
    ],
)
def test_impossible_encodings_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CorpusConfig(**fields)


def test_one_encoding_is_that_of_both_sides() -> None:
    assert CorpusConfig(encoding=("cp1252",)).encodings == ("cp1252", "cp1252")
    assert CorpusConfig(encoding=("latin-1", "utf-8")).encodings == ("latin-1", "utf-8")


def test_what_is_named_or_tabled_is_not_the_built_in_corpus() -> None:
    named = PreprocessConfig(corpus=CorpusConfig(dataset="wmt14_en_de"))
    tabled = PreprocessConfig(corpus=CorpusConfig(pair_files=("a/x.tsv.gz",)))
    assert (named.is_builtin, tabled.is_builtin, PreprocessConfig().is_builtin) == (0, 0, 1)
    assert (named.name, tabled.name, PreprocessConfig().name) == (
        "wmt14_en_de",
        "x.tsv.gz",
        "builtin",
    )
    assert named.resolved().vocabulary_size == 37_000


@pytest.mark.parametrize("field", ["dev_dataset", "test_dataset"])
def test_an_evaluation_set_needs_something_to_train_on(field: str) -> None:
    fields: dict[str, Any] = {field: "newstest2013"}
    with pytest.raises(ValueError, match="--source_files, --pair_files or --dataset as well"):
        PreprocessConfig(corpus=CorpusConfig(**fields))


def test_the_cache_is_no_content() -> None:
    plain, moved = (
        PreprocessConfig(corpus=CorpusConfig(dataset="wmt14_en_de", cache_dir=folder))
        for folder in ("a", "b")
    )
    assert plain.content() == moved.content()
    assert plain.content()["dataset"] == "wmt14_en_de"
