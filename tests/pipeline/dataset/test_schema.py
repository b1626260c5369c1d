import dataclasses
import hashlib
import json
from pathlib import Path

import pytest

from pipeline.common.errors import UserError
from pipeline.dataset.schema import (
    FORMAT_VERSION,
    Corpus,
    Dataset,
    Shard,
    Split,
    Vocabulary,
    load_dataset,
    mark_completed,
    read_lines,
    write_manifest,
)

VOCABULARY = Vocabulary("bpe", "subwords.model", hashlib.sha256(b"pieces").hexdigest(), 300)


def make_dataset(directory: Path) -> Dataset:
    (directory / "train").mkdir(parents=True)
    (directory / "train/a.tfrecord").write_bytes(b"12345")
    (directory / "subwords.model").write_bytes(b"pieces")
    shard = Shard("train/a.tfrecord", (8, 9), 1, 2, 11, 12, bytes=5, sha256="ab")
    return Dataset(
        name="tiny",
        source_language="en",
        target_language="de",
        vocabularies=dict.fromkeys(("source", "target"), VOCABULARY),
        bucket_shapes=((8, 9), (16, 16)),
        splits={
            "train": Split("train", 2, (shard,)),
            "dev": Split("dev", 0, (), "dev/source.txt", "dev/target.txt"),
        },
        corpora=(Corpus("train", "ü.en + ü.de", "ef", 3),),
        counts={"train": {"read": 3, "kept": 2, "too_long": 1}},
        padding_efficiency={"008x009": 0.72, "total": 0.72},
        recomposed={"train": 1},
        config={"max_length": 16},
        directory=str(directory),
    )


@pytest.fixture
def complete(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    write_manifest(make_dataset(directory))
    mark_completed(directory)
    return directory


def test_reading_a_dataset_returns_what_was_written(complete: Path, tmp_path: Path) -> None:
    dataset = load_dataset(complete)
    assert dataclasses.replace(dataset, fingerprint="") == make_dataset(tmp_path / "again")
    assert dataset.directory == str(complete)
    assert dataset.path("train/a.tfrecord") == str(complete / "train/a.tfrecord")


def test_the_fingerprint_depends_only_on_the_content(tmp_path: Path) -> None:
    def fingerprint(folder: str, **changes: object) -> str:
        dataset = make_dataset(tmp_path / folder)
        write_manifest(dataclasses.replace(dataset, **changes))  # type: ignore[arg-type]
        return json.loads((tmp_path / folder / "dataset.json").read_bytes())["fingerprint"]

    plain = fingerprint("a")
    assert fingerprint("b", name="other", corpora=()) == plain
    vocabularies = {"source": VOCABULARY, "target": dataclasses.replace(VOCABULARY, sha256="ce")}
    assert fingerprint("c", vocabularies=vocabularies) != plain
    own = {"source": VOCABULARY, "target": dataclasses.replace(VOCABULARY, path="b.model")}
    assert fingerprint("e", vocabularies=own) != plain  # each side its own, though they are alike
    assert fingerprint("d", splits={}) != plain


def test_a_missing_dataset_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="python -m pipeline.preprocess --output_dir=.*none"):
        load_dataset(tmp_path / "none")


def test_an_unfinished_dataset_is_refused(complete: Path) -> None:
    (complete / "COMPLETED").unlink()
    with pytest.raises(UserError, match="no COMPLETED.*interrupted.*run .* again"):
        load_dataset(complete)


def test_another_format_version_is_refused(complete: Path) -> None:
    manifest = complete / "dataset.json"
    text = manifest.read_text("utf-8").replace(
        f'"format_version": {FORMAT_VERSION}', '"format_version": 99'
    )
    manifest.write_text(text, "utf-8")
    mark_completed(complete)
    with pytest.raises(UserError, match=f"format version 99, expected {FORMAT_VERSION}"):
        load_dataset(complete)


@pytest.mark.parametrize("change", [(b"tiny", b"huge"), (b"{", b"}"), (b"tiny", b"ti\xffy")])
def test_an_edited_manifest_is_refused(complete: Path, change: tuple[bytes, bytes]) -> None:
    manifest = complete / "dataset.json"
    manifest.write_bytes(manifest.read_bytes().replace(*change))
    with pytest.raises(UserError, match="changed after completion"):
        load_dataset(complete)


def test_a_lost_shard_is_named(complete: Path) -> None:
    (complete / "train/a.tfrecord").unlink()
    with pytest.raises(UserError, match="train/a.tfrecord is missing, expected 5 bytes"):
        load_dataset(complete)


def test_a_truncated_shard_is_named(complete: Path) -> None:
    (complete / "train/a.tfrecord").write_bytes(b"")
    with pytest.raises(UserError, match="train/a.tfrecord has 0 bytes, expected 5 bytes"):
        load_dataset(complete)


def test_lost_or_damaged_subwords_are_refused(complete: Path) -> None:
    (complete / "subwords.model").write_bytes(b"pieceS")
    with pytest.raises(UserError, match="subwords.model is damaged, its checksum"):
        load_dataset(complete)
    (complete / "subwords.model").unlink()
    with pytest.raises(UserError, match="subwords.model is missing: delete .* and preprocess"):
        load_dataset(complete)


def test_lines_end_only_at_line_feeds(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("a\u0085b\u2028c\r\n\nd\n".encode())
    assert read_lines(tmp_path / "text") == ["a\u0085b\u2028c\r", "", "d"]


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"")
    assert read_lines(tmp_path / "text") == []


def test_the_command_for_a_missing_dataset_is_quoted_for_the_shell(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"pipeline\.preprocess --output_dir='.*/no such' "):
        load_dataset(tmp_path / "no such")
