"""`--write_clean_text`: the pairs of the shards, as text that other tools read."""

from pathlib import Path

import pytest
from pyarrow import parquet

from pipeline.cleaning.rules import CleaningConfig
from pipeline.common.errors import UserError
from pipeline.dataset.schema import SPLITS, Dataset, load_dataset
from pipeline.dataset.verification import verify
from tests.helpers.preprocessing import build, configure, contents, read_pairs


def text_of(dataset: Dataset, split: str) -> list[tuple[str, str]]:
    pairs = []
    for file in dataset.splits[split].clean_text:
        table = parquet.read_table(dataset.path(file.path))
        assert table.column_names == ["source", "target"] and len(table) == file.pairs
        pairs += list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    return pairs


def test_the_text_of_every_pair_of_the_shards_is_written(tmp_path: Path) -> None:
    rules = CleaningConfig(drop_duplicates=True)
    config = configure(tmp_path, "out", cleaning=rules, max_length=12, write_clean_text=True)
    with open(config.source_files[0], "a") as source, open(config.target_files[0], "a") as target:
        source.write("dogs run.\n" + "word " * 30 + "\n")
        target.write("Hunde laufen.\n" + "Wort " * 30 + "\n")
    dataset = build(config)
    for split in SPLITS:
        assert sorted(text_of(dataset, split)) == sorted(read_pairs(dataset, split))
    corpus = Path(config.source_files[0]).read_text().splitlines()
    places = [corpus.index(source) for source, _ in text_of(dataset, "train")]
    assert places == sorted(places) and len({*places}) == len(places)
    assert dataset.counts["train"]["duplicate"] == 1 and dataset.counts["train"]["too_long"] > 1
    assert len(dataset.splits["train"].clean_text) == 6  # blocks
    assert load_dataset(dataset.directory) == dataset
    verify(dataset)
    damaged = Path(dataset.path(dataset.splits["train"].clean_text[1].path))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(UserError, match="1 of .* do not match their checksum"):
        verify(dataset)


def test_text_changes_no_other_file(tmp_path: Path) -> None:
    plain = contents(build(configure(tmp_path, "plain")).directory)
    text = contents(build(configure(tmp_path, "text", write_clean_text=True)).directory)
    others = {name: data for name, data in text.items() if not name.endswith(".parquet")}
    assert others.keys() == plain.keys() and len(text) == len(plain) + 7
    different = {name for name in plain if plain[name] != others[name]}
    assert different == {"dataset.json", "COMPLETED"}
    assert b'clean_text": [' not in plain["dataset.json"]
