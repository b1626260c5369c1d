"""Datasets whose training pairs are segmented several times, by BPE-dropout."""

import collections
from pathlib import Path

import pytest

from pipeline import card
from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset, parse_example, read_records, split_row
from pipeline.subwords.encoding import load_subwords
from tests.helpers.preprocessing import build, build_with_beam, configure, read_pairs

SAMPLES = 3
FLAGS = {"bpe_dropout": 0.3, "bpe_dropout_samples": SAMPLES}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return build(configure(tmp_path_factory.mktemp("plain"), "out"))


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return build(configure(tmp_path_factory.mktemp("sampled"), "out", **FLAGS))


def rows_of(dataset: Dataset) -> list[list[tuple[list[int], list[int]]]]:
    """Returns the pairs of every training row, as ids."""
    return [
        list(split_row(*parse_example(record)))
        for shard in dataset.splits["train"].shards
        for record in read_records(dataset.path(shard.path))
    ]


def test_every_training_pair_appears_once_for_each_sample(plain: Dataset, sampled: Dataset) -> None:
    expected = {
        pair: SAMPLES * n for pair, n in collections.Counter(read_pairs(plain, "train")).items()
    }
    assert collections.Counter(read_pairs(sampled, "train")) == expected
    assert sampled.splits["train"].pairs == SAMPLES * plain.splits["train"].pairs
    assert sampled.counts["train"]["kept"] == plain.counts["train"]["kept"]


def test_segmentations_of_a_pair_differ_and_are_in_different_rows(sampled: Dataset) -> None:
    subwords = load_subwords(sampled.path("subwords.model"))
    seen = collections.defaultdict[str, set[tuple[int, ...]]](set)
    for row in rows_of(sampled):
        sources = subwords.decode([source for source, _ in row])
        assert len(set(sources)) == len(sources)
        for text, (source, _) in zip(sources, row, strict=True):
            seen[text].add(tuple(source))
    assert sum(len(variants) == SAMPLES for variants in seen.values()) > len(seen) / 2


def test_dev_and_test_keep_all_merges(plain: Dataset, sampled: Dataset) -> None:
    for split in ("dev", "test"):
        pairs = [
            sorted(
                pair
                for shard in dataset.splits[split].shards
                for record in read_records(dataset.path(shard.path))
                for pair in split_row(*parse_example(record))
            )
            for dataset in (plain, sampled)
        ]
        assert pairs[0] == pairs[1]


@pytest.mark.heavy
def test_threads_and_processes_give_the_same_shards(sampled: Dataset, tmp_path: Path) -> None:
    for number, beam_options in enumerate([["--direct_running_mode=multi_threading"], []]):
        config = configure(tmp_path, f"out{number}", num_workers=2, **FLAGS)
        made = build_with_beam(config, *beam_options)
        assert made.splits == sampled.splits  # the SHA-256 of every shard among others


def test_a_pair_is_left_out_when_one_segmentation_is_too_long(
    plain: Dataset, tmp_path: Path
) -> None:
    longest = max(max(map(len, pair)) for row in rows_of(plain) for pair in row)
    dataset = build(configure(tmp_path, "out", max_length=longest, **FLAGS))
    counts = dataset.counts["train"]
    assert counts["too_long"] > 0
    assert counts["kept"] == plain.counts["train"]["kept"] - counts["too_long"]
    assert set(collections.Counter(read_pairs(dataset, "train")).values()) == {SAMPLES}


def test_the_card_and_the_summary_report_it(plain: Dataset, sampled: Dataset) -> None:
    line = "  BPE-dropout 0.3: 3 segmentations of each pair of train\n"
    assert line in card.format_card(sampled, samples=0) and line in card.format_summary(
        sampled, 1.0
    )
    assert "BPE-dropout" not in card.format_card(plain, samples=0) + card.format_summary(plain, 1.0)


def test_impossible_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--bpe_dropout=1.0: expected at least 0 and below 1"):
        configure(tmp_path, "out", bpe_dropout=1.0)
    with pytest.raises(ValueError, match="=0.1 with --subwords=wordpiece: expected --subwords=bpe"):
        configure(tmp_path, "out", bpe_dropout=0.1, subwords="wordpiece")


def test_a_directory_made_with_dropout_is_not_reused_without_it(sampled: Dataset) -> None:
    folder = Path(sampled.directory)
    with pytest.raises(UserError, match="made with --bpe_dropout=0.3, received --bpe_dropout=0.0"):
        build(configure(folder.parent, folder.name))
