"""Corpora that are tiny, repetitive or without dev pairs, and what users learn about them."""

from pathlib import Path
from typing import Any

import pytest

from pipeline import card
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.dataset.schema import Dataset
from tests.helpers.commands import call
from tests.helpers.preprocessing import WORDS, build, configure, contents, preprocess_flags

LINES = [
    (f"The {english} see one of {number} {english}.", f"Die {german} sehen eins von {number}.")
    for number, (english, german) in enumerate(WORDS)
]


def config_of(folder: Path, pairs: list[tuple[str, str]], **fields: Any) -> PreprocessConfig:
    files: dict[str, Any] = {}
    for side, name in enumerate(("source_files", "target_files")):
        path = folder / f"text.{side}"
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), "utf-8")
        files[name] = (str(path),)
    return PreprocessConfig(**files, output_dir=str(folder / "out"), **fields)


def pairs_of(dataset: Dataset) -> list[int]:
    return [dataset.splits[split].pairs for split in ("train", "dev", "test")]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (LINES[:1] * 10_000, [10_000, 0, 0]),
        (LINES[:5] * 80, [400, 0, 0]),
        (LINES[:5], [3, 1, 1]),
        (LINES[:1], [1, 0, 0]),
    ],
)
def test_the_held_out_pairs_never_leave_training_without_any(
    tmp_path: Path, pairs: list[tuple[str, str]], expected: list[int]
) -> None:
    dataset = build(config_of(tmp_path, pairs))
    assert pairs_of(dataset) == expected
    summary = card.format_summary(dataset, 1.0)
    held_out = (
        f"held out: {expected[1]} for dev, {expected[2]} for test, instead of --holdout_pairs=1000"
    )
    assert held_out in summary
    assert ("Next: python -m trainer.task" in summary) == bool(expected[1])


def test_pairs_that_all_occur_in_dev_are_what_the_error_names(tmp_path: Path) -> None:
    plain = config_of(tmp_path, LINES)
    dev = {"dev_source_files": plain.source_files, "dev_target_files": plain.target_files}
    expected = r"no pair is left .* of 8 read, overlap_with_dev_or_test drops 8 \(--drop_overlap\)"
    with pytest.raises(UserError, match=expected):
        build(config_of(tmp_path, LINES, **dev))


def test_pairs_that_are_all_too_long_are_what_the_error_names(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"of 8 read, too_long drops \d \(--max_length\)"):
        build(config_of(tmp_path, LINES, max_length=2))


def test_the_chosen_size_is_the_same_as_when_it_is_given(tmp_path: Path) -> None:
    chosen = build(configure(tmp_path, "chosen", vocabulary_size=None))
    size = chosen.vocabularies["source"].size
    given = build(configure(tmp_path, "given", vocabulary_size=size))
    assert size < 1_000  # the words of this corpus fill no more
    different = {
        name
        for name, data in contents(chosen.directory).items()
        if data != contents(given.directory)[name]
    }
    assert different == {"dataset.json", "COMPLETED"}
    assert chosen.fingerprint == given.fingerprint


def test_separate_vocabularies_are_chosen_too(tmp_path: Path) -> None:
    dataset = build(configure(tmp_path, "out", vocabulary_size=None, shared_vocabulary=False))
    sizes = {vocabulary.size for vocabulary in dataset.vocabularies.values()}
    assert all(260 < size < 1_000 for size in sizes)


def test_the_command_warns_of_a_wrong_script_and_of_missing_dev_pairs(tmp_path: Path) -> None:
    config = configure(tmp_path, "out", holdout_pairs=0)
    flags = preprocess_flags(config, source_language="th", target_language="de")
    result = call("pipeline.preprocess", *flags)
    assert result.returncode == 0
    assert "warning: the source text is mostly in Latin script, but Thai is" in result.stderr
    assert ": Thai → German, 310 bpe subwords" in result.stdout
    *_, last = result.stdout.splitlines()
    assert last.startswith("Warning: dev has no pairs") and "trainer.task" not in last
