"""Datasets that share subwords, shapes of rows and tags, so that a run can mix them."""

from pathlib import Path

import pytest

from pipeline import card
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.dataset.schema import Dataset, parse_example, read_lines, read_records, split_row
from pipeline.subwords.encoding import load_subwords
from pipeline.subwords.sharing import SharingConfig
from tests.helpers.preprocessing import build, configure, make_corpus, read_pairs
from trainer.data.mixture import load_datasets

TAGS = ("<2de>", "<bt>")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A dataset with tags in its vocabulary and one before each source."""
    sharing = SharingConfig(tags=TAGS, source_tag="<2de>")
    return build(configure(tmp_path_factory.mktemp("first"), "first", sharing=sharing))


def configure_second(tmp_path: Path, first: Dataset, **changes: object) -> PreprocessConfig:
    """A smaller corpus, which alone would get other subwords and shapes."""
    fields: dict[str, object] = {
        **make_corpus(tmp_path / "small", pairs=60),
        "vocabulary_size": None,
        "sharing": SharingConfig(like=first.directory),
        **changes,
    }
    return configure(tmp_path, "second", **fields)


def test_a_dataset_like_another_can_be_mixed_with_it(tmp_path: Path, first: Dataset) -> None:
    second = build(configure_second(tmp_path, first))
    assert second.vocabularies == first.vocabularies
    assert second.bucket_shapes == first.bucket_shapes
    assert second.config["like"] == first.directory
    directories = [first.directory, second.directory]
    assert load_datasets(directories) == [first, second]
    alone = build(
        configure_second(
            tmp_path,
            first,
            sharing=SharingConfig(),
            output_dir=f"{tmp_path}/alone",
            subwords_model=(first.path("subwords.model"),),
        )  # fmt: skip
    )
    assert alone.bucket_shapes != first.bucket_shapes
    with pytest.raises(UserError, match=f"expected those of {first.directory}, .*--like="):
        load_datasets([first.directory, alone.directory])


def test_wordpieces_and_separate_vocabularies_are_taken_over(tmp_path: Path) -> None:
    """As flags that were not given; also a second time, from the finished dataset."""
    first = build(
        configure(tmp_path, "w", subwords="wordpiece", shared_vocabulary=False, vocabulary_size=35)
    )
    config = configure_second(tmp_path, first)
    second = build(config)
    assert second.vocabularies == first.vocabularies
    assert second.config["subwords"] == "wordpiece"
    assert build(config) == second


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_length": 9}, "with --max_length=9: expected no --max_length, which is taken over"),
        ({"vocabulary_size": 300}, "with --vocabulary_size=300: expected no --vocabulary_size"),
        ({"subwords": "wordpiece"}, "with --subwords=wordpiece: expected no --subwords"),
        ({"subwords_model": ("m",)}, "with --subwords_model=m: expected no --subwords_model"),
        ({"sharing": SharingConfig(like="data/none")}, "no dataset at data/none"),
    ],
)
def test_what_contradicts_the_other_dataset_is_refused(
    tmp_path: Path, first: Dataset, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        build(configure_second(tmp_path, first, **changes))
    assert not (tmp_path / "second").exists()


def test_a_tag_stands_before_each_source_and_not_in_the_raw_text(
    tmp_path: Path, first: Dataset
) -> None:
    pairs = read_pairs(first, "train")
    assert all(source.startswith("<2de> ") and "<" not in target for source, target in pairs)
    assert len(pairs) == 460
    tag_id = 3
    assert load_subwords(first.path("subwords.model")).pieces([tag_id]) == ["▁<2de>"]
    for split in ("train", "dev"):
        for shard in first.splits[split].shards:
            for record in read_records(first.path(shard.path)):
                for source, target in split_row(*parse_example(record)):
                    assert source[0] == tag_id and tag_id not in [*source[1:], *target]
    assert not any("<" in line for line in read_lines(first.path("dev/source.txt")))
    assert {counts["too_long"] for counts in first.counts.values()} == {0}  # rows have room for it
    assert first.source_tag == "<2de>"
    assert "<2de> before each source" in card.format_card(first, samples=0)


def test_a_dataset_without_tag_is_as_if_there_were_no_tags(tmp_path: Path, first: Dataset) -> None:
    second = build(configure_second(tmp_path, first))
    assert second.source_tag == ""
    assert not any("<" in source for source, _ in read_pairs(second, "train"))


def test_another_dataset_may_have_another_tag_but_none_that_the_subwords_lack(
    tmp_path: Path, first: Dataset
) -> None:
    sharing = SharingConfig(like=first.directory, source_tag="<bt>")
    second = build(configure_second(tmp_path, first, sharing=sharing))
    assert all(source.startswith("<bt> ") for source, _ in read_pairs(second, "train"))
    lacking = SharingConfig(like=first.directory, source_tag="<2fr>")
    config = configure_second(tmp_path, first, sharing=lacking, output_dir=f"{tmp_path}/third")
    with pytest.raises(UserError, match="received --source_tag=<2fr>: .*subwords.model has no pie"):
        build(config)
    assert not (tmp_path / "third").exists()


def test_tags_stay_whole_under_bpe_dropout(tmp_path: Path, first: Dataset) -> None:
    sharing = SharingConfig(like=first.directory, source_tag="<bt>")
    changes = {"sharing": sharing, "bpe_dropout": 0.5, "bpe_dropout_samples": 2}
    second = build(configure_second(tmp_path, first, **changes))
    for shard in second.splits["train"].shards:
        for record in read_records(second.path(shard.path)):
            for source, _ in split_row(*parse_example(record)):
                assert source[0] == 4 and 4 not in source[1:]
