"""Preprocessing from and to an object store leaves the bytes that local folders get."""

import bz2
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from absl import flags

from pipeline import card
from pipeline.build import dry_run
from pipeline.cleaning.rules import CleaningConfig
from pipeline.common import cli, storage
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.corpora.corpus_config import CorpusConfig
from pipeline.dataset import schema
from pipeline.dataset.verification import verify
from tests.helpers.object_store import OBJECTS, MemoryFileSystem, objects, upload
from tests.helpers.preprocessing import build, build_with_beam, configure, contents
from trainer.data.buckets import make_buckets

STORE = "mem://bucket"
MOMENTS = 6


@pytest.fixture(autouse=True)
def _empty_store() -> Iterator[None]:
    OBJECTS.clear()
    yield
    OBJECTS.clear()
    assert not Path("mem:").exists()


def in_store(config: PreprocessConfig, name: str = "out") -> PreprocessConfig:
    test = Path(config.output_dir).parent.name
    return dataclasses.replace(config, output_dir=f"{STORE}/{test}/{name}")


def stored_corpus(tmp_path: Path) -> PreprocessConfig:
    """Uploads plain training text, compressed dev text, and a table of test pairs."""
    config = configure(tmp_path, "local", cleaning=CleaningConfig(drop_duplicates=True))
    sources, targets = (
        Path(files[0]).read_bytes() for files in (config.source_files, config.target_files)
    )
    rows = zip(sources.splitlines()[:9], targets.splitlines()[:9], strict=True)
    table = b"".join(b"%s\t%s\n" % row for row in rows)
    return dataclasses.replace(
        config,
        source_files=(upload(f"{STORE}/raw/train.en", sources),),
        target_files=(upload(f"{STORE}/raw/train.de", targets),),
        dev_source_files=(upload(f"{STORE}/raw/dev.en.bz2", bz2.compress(sources)),),
        dev_target_files=(upload(f"{STORE}/raw/dev.de.bz2", bz2.compress(targets)),),
        corpus=CorpusConfig(test_pair_files=(upload(f"{STORE}/raw/test.tsv", table),)),
        cleaning=CleaningConfig(drop_duplicates=True, drop_overlap=False),
    )


def test_a_store_gets_the_bytes_of_a_folder(tmp_path: Path) -> None:
    config = stored_corpus(tmp_path)
    local = build(config)
    assert local.splits["train"].pairs == 500 and local.splits["dev"].pairs == 500
    dataset = build_with_beam(in_store(config))
    assert dataset == local
    assert objects(dataset.directory) == contents(local.directory)


def test_local_text_gives_a_store_the_bytes_of_a_folder(tmp_path: Path) -> None:
    config = configure(tmp_path, "local")
    dataset = build(in_store(config))
    assert objects(dataset.directory) == contents(build(config).directory)


def test_workers_of_a_store_need_no_local_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure(tmp_path, "local")

    def only_the_store(path: str, start: int, size: int) -> bytes:
        assert path.startswith(STORE), path
        return read_range(path, start, size)

    read_range = storage.read_range
    monkeypatch.setattr(storage, "read_range", only_the_store)
    assert build_with_beam(in_store(config)).splits["train"].pairs == 460


def test_interrupted_at_any_write_it_is_refused_then_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure(tmp_path, "local", cleaning=CleaningConfig(drop_duplicates=True))
    create, written, fatal = MemoryFileSystem.create, list[str](), list[int]()

    def create_or_die(self: MemoryFileSystem, path: str, **options: str) -> object:
        written.append(path)
        if fatal == [len(written)]:
            raise KeyboardInterrupt
        return create(self, path, **options)

    monkeypatch.setattr(MemoryFileSystem, "create", create_or_die)
    whole = objects(build(in_store(config, "whole")).directory)
    writes = len(written)
    for moment in range(1, writes + 1, writes // (MOMENTS - 1)):
        output = in_store(config, f"interrupted-{moment}")
        written.clear()
        fatal[:] = [moment]
        with pytest.raises((KeyboardInterrupt, RuntimeError)):  # Beam wraps it
            build(output)
        fatal.clear()
        with pytest.raises(UserError, match="no COMPLETED|no dataset"):
            schema.load_dataset(output.output_dir)
        assert objects(build(output).directory) == whole, moment


@pytest.mark.parametrize("changes", [{}, {"block_lines": 70}])
def test_interrupted_while_publishing_it_is_refused_then_finished_or_replaced(
    tmp_path: Path, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = in_store(configure(tmp_path, "local"))
    move = MemoryFileSystem.rename

    def move_some(self: MemoryFileSystem, sources: list[str], targets: list[str]) -> None:
        move(self, sources[:5], targets[:5])
        raise KeyboardInterrupt

    monkeypatch.setattr(MemoryFileSystem, "rename", move_some)
    with pytest.raises(KeyboardInterrupt):
        build(config)
    monkeypatch.undo()
    with pytest.raises(UserError, match="no COMPLETED"):
        schema.load_dataset(config.output_dir)
    config = dataclasses.replace(config, **changes)
    whole = build(in_store(config, "whole"))
    assert objects(build(config).directory) == objects(whole.directory)


def test_work_of_another_configuration_is_deleted(tmp_path: Path) -> None:
    config = in_store(configure(tmp_path, "local"))
    with pytest.raises(UserError, match="vocabulary_size=9999 is more than"):
        build(dataclasses.replace(config, vocabulary_size=9999, block_lines=7))
    whole = build(in_store(config, "whole"))
    assert objects(build(config).directory) == objects(whole.directory)


def test_a_complete_dataset_in_a_store_is_not_modified_and_others_are_refused(
    tmp_path: Path,
) -> None:
    config = in_store(configure(tmp_path, "local"))
    dataset, before = build(config), dict(OBJECTS)
    assert build(config) == dataset and before == OBJECTS
    with pytest.raises(UserError, match="made with --max_length=256, received --max_length=99"):
        build(dataclasses.replace(config, max_length=99))
    thesis = f"{STORE}/thesis"
    upload(f"{thesis}/dear.txt", b"dear")
    with pytest.raises(UserError, match=f"{thesis} holds files that are not a dataset"):
        build(dataclasses.replace(config, output_dir=thesis))
    assert objects(thesis) == {"dear.txt": b"dear"}


def test_a_dataset_in_a_store_is_shown_and_verified(tmp_path: Path) -> None:
    dataset = build(in_store(configure(tmp_path, "local")))
    assert card.format_card(dataset, samples=2).startswith(f"{dataset.directory}: train.en")
    assert verify(dataset) == len(objects(dataset.directory)) - 2  # manifest and COMPLETED
    shard = dataset.splits["train"].shards[0].path
    url = dataset.path(shard)
    OBJECTS[url] = OBJECTS[url][:-1] + b"?"
    with pytest.raises(UserError, match=f"1 of .* do not match their checksum: {shard}"):
        verify(dataset)


def test_a_dry_run_reads_a_store_and_writes_nothing(tmp_path: Path) -> None:
    config = stored_corpus(tmp_path)
    before = dict(OBJECTS)
    assert "500 of 500 pairs" in dry_run.format_dry_run(in_store(config))
    assert before == OBJECTS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source_files": (f"{STORE}/nowhere",)}, f"no file {STORE}/nowhere: expected text"),
        ({"output_dir": "warp://out"}, "received warp://out/COMPLETED: Beam has no such"),
    ],
)
def test_a_mistake_about_a_store_is_one_line(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        build(configure(tmp_path, "local", **changes))


def test_downloads_stay_on_this_machine() -> None:
    values = flags.FlagValues()
    cli.define_flags(PreprocessConfig, values)
    values(["preprocess", f"--cache_dir={STORE}/cache"])
    with pytest.raises(UserError, match=f"--cache_dir={STORE}/cache: expected a local folder"):
        cli.config_from_flags(PreprocessConfig, values)


def test_a_trainer_whose_tensorflow_cannot_read_the_store_says_so(tmp_path: Path) -> None:
    dataset = schema.load_dataset(build(in_store(configure(tmp_path, "local"))).directory)
    with pytest.raises(UserError, match="this TensorFlow does not read mem://; copy"):
        make_buckets(dataset, "train", tokens_per_batch=1000, parts=1)
