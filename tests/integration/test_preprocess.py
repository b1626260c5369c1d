"""The command from raw text to a dataset directory, as a user runs it."""

import collections
import gzip
import sys
from pathlib import Path

import pytest

from pipeline.cleaning.language_id import load_identifier
from pipeline.cleaning.rules import OVERLAP, CleaningConfig
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.dataset import schema
from tests.helpers.commands import call, run_process
from tests.helpers.preprocessing import build_with_beam, configure, preprocess_flags, read_pairs


def test_every_pair_is_in_exactly_one_split_unchanged(tmp_path: Path) -> None:
    config = configure(tmp_path, "out")
    dataset = build_with_beam(config)
    texts = [schema.read_lines(file) for file in (*config.source_files, *config.target_files)]
    splits = {split: read_pairs(dataset, split) for split in schema.SPLITS}
    everything = collections.Counter(pair for pairs in splits.values() for pair in pairs)
    assert everything == collections.Counter(zip(*texts, strict=True))
    assert {split: len(pairs) for split, pairs in splits.items()} == {
        "train": 460,
        "dev": 20,
        "test": 20,
    }


def test_raw_text_of_dev_is_in_the_directory(tmp_path: Path) -> None:
    dataset = build_with_beam(configure(tmp_path, "out"))
    dev = dataset.splits["dev"]
    assert dev.source_text and dev.target_text
    lines = [schema.read_lines(dataset.path(path)) for path in (dev.source_text, dev.target_text)]
    assert sorted(zip(*lines, strict=True)) == sorted(read_pairs(dataset, "dev"))


def test_the_data_card_accounts_for_every_pair(tmp_path: Path) -> None:
    config = configure(tmp_path, "out", max_length=12)
    with open(config.source_files[0], "a") as source, open(config.target_files[0], "a") as target:
        source.write("\nan only side\n" + "word " * 30 + "\n")
        target.write("nothing above\n\n" + "Wort " * 30 + "\n")
    counts = build_with_beam(config).counts["train"]
    assert counts["read"] == 503
    assert counts["empty_side"] == 2
    assert counts["too_long"] > 0
    assert counts["read"] == sum(count for name, count in counts.items() if name != "read")


def test_given_dev_and_test_files_are_kept_whole_and_out_of_training(tmp_path: Path) -> None:
    config = configure(tmp_path, "out")
    sources, targets = (
        schema.read_lines(files[0]) for files in (config.source_files, config.target_files)
    )
    files = {}
    for split, start in (("dev", 0), ("test", 7)):
        for side, lines in (("source", sources), ("target", targets)):
            path = tmp_path / f"{split}.{side}"
            path.write_text("".join(f"  {line} \n" for line in [*lines[start : start + 7], ""]))
            files[f"{split}_{side}_files"] = (str(path),)
    dataset = build_with_beam(configure(tmp_path, "out", **files))
    assert dataset.counts["train"][OVERLAP] == 14
    assert not set(read_pairs(dataset, "train")) & set(zip(sources[:14], targets[:14], strict=True))
    raw = schema.read_lines(dataset.path("dev/source.txt"))
    assert raw == [*(f"  {line} " for line in sources[:7]), "   "]
    assert dataset.splits["dev"].pairs == 7


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_both_kinds_of_subwords_make_a_dataset(tmp_path: Path, kind: str) -> None:
    size = {"bpe": 310, "wordpiece": 55}[kind]
    dataset = build_with_beam(configure(tmp_path, "out", subwords=kind, vocabulary_size=size))
    vocabulary = dataset.vocabularies["source"]
    assert vocabulary.kind == kind and 0.9 * size <= vocabulary.size <= size
    assert dataset.vocabularies["target"] == vocabulary
    assert len(read_pairs(dataset, "train")) == 460


def test_the_command_reports_and_names_the_next_one(tmp_path: Path) -> None:
    config = configure(tmp_path, "out")
    result = run_process(
        "-m", "pipeline.preprocess", *preprocess_flags(config, runner="DirectRunner")
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(
        f"{config.output_dir}: English → German (from the file names), 310 bpe subwords, "
    )
    assert "train: 460 of 500 pairs" in result.stdout
    assert "padding efficiency" in result.stdout
    assert "python -m trainer.task --flagfile=configs/multi30k.flags" in result.stdout
    assert f"--dataset_dir={config.output_dir}" in result.stdout
    assert "500 of 500 lines, " in result.stderr  # progress
    assert "Traceback" not in result.stderr and "WARNING" not in result.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target_files": "{tmp}/short"}, "train.en has 500 lines but {tmp}/short has 2"),
        ({"source_files": "{tmp}/latin1"}, "{tmp}/latin1, line 4: byte 0xfc is not UTF-8"),
        ({"source_files": "{tmp}/empty", "target_files": "{tmp}/empty"}, "are empty"),
        ({"source_files": "{tmp}/cut.gz"}, "{tmp}/cut.gz"),
        ({"source_files": "{tmp}/nowhere"}, "no file {tmp}/nowhere"),
        ({"output_dir": "/proc/beamformer"}, "cannot use /proc/beamformer"),
        ({"vocabulary_size": "99999"}, "--vocabulary_size=99999 is more than this corpus can fill"),
        ({"vocabulary_size": "-1"}, "received --vocabulary_size=-1: expected at least 261"),
        ({"max_length": "0"}, "received --max_length=0: expected at least 2"),
        ({"max_lenth": "9"}, "unknown flag --max_lenth; nearest: --max_length"),
    ],
)
def test_a_users_mistake_is_one_line(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    config = configure(tmp_path, "out")
    (tmp_path / "short").write_text("a\nb\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"a line\n" * 500)[:-12])
    (tmp_path / "latin1").write_bytes(b"a\n" * 3 + b"f\xfcr\n" + b"a\n" * 496)
    values = {name: value.format(tmp=tmp_path) for name, value in changes.items()}
    result = call("pipeline.preprocess", *preprocess_flags(config, **values))
    assert result.returncode == 2
    *_, last = result.stderr.strip().split("\n")
    assert last.startswith("error: ") and message.format(tmp=tmp_path) in last
    assert "Traceback" not in result.stderr


def test_help_answers_without_beam() -> None:
    code = (
        "import sys; sys.argv[1:] = ['--help']\n"
        "import runpy\n"
        "try: runpy.run_module('pipeline.preprocess', run_name='__main__', alter_sys=True)\n"
        "except SystemExit as exit: print(exit.code, 'apache_beam' in sys.modules)\n"
    )
    result = run_process("-c", code)
    assert result.stdout.endswith("0 False\n")
    assert "--vocabulary_size=N" in result.stdout


def test_the_built_in_corpus_is_what_comes_without_files(tmp_path: Path) -> None:
    dataset = build_with_beam(PreprocessConfig(output_dir=str(tmp_path / "demo")))
    assert dataset.name == "builtin" and dataset.vocabularies["target"].size == 2000
    assert dataset.splits["train"].pairs >= 20_000
    assert dataset.padding_efficiency["total"] > 0.9
    assert max(dataset.bucket_shapes[-1]) < 100  # the longest pair there is, not --max_length


def test_every_cleaning_rule_has_its_counter_in_the_data_card(tmp_path: Path) -> None:
    rules = CleaningConfig(
        drop_identical_sides=True,
        drop_control_characters=True,
        min_script_share=0.5,
        drop_duplicates=True,
    )
    config = configure(tmp_path, "out", cleaning=rules)
    lines = [
        ("same", "same"),
        ("d\x82gs run", "Hunde laufen"),
        ("псы бегут", "Hunde laufen"),
        ("word " * 10, "Wort"),
        ("", "Wort"),
        *[("dogs run.", "Hunde laufen.")] * 3,  # the first of them is in the corpus already
        *[("new dogs run.", "neue Hunde laufen.")] * 3,
    ]
    with open(config.source_files[0], "a") as source, open(config.target_files[0], "a") as target:
        source.writelines(f"{line}\n" for line, _ in lines)
        target.writelines(f"{line}\n" for _, line in lines)
    dataset = build_with_beam(config)
    counts = dataset.counts["train"]
    for name in ("identical_sides", "control_characters", "wrong_script", "empty_side"):
        assert counts[name] == 1, name
    assert counts["length_ratio"] == 1 and counts["duplicate"] == 5
    assert counts["read"] == sum(count for name, count in counts.items() if name != "read")
    pairs = read_pairs(dataset, "train")
    assert len(set(pairs)) == len(pairs) == counts["kept"]


def test_a_rule_that_cannot_work_says_so_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    load_identifier.cache_clear()
    asked = CleaningConfig(identify_languages=True)
    with pytest.raises(UserError, match="pip install"):
        build_with_beam(configure(tmp_path, "out", cleaning=asked))
    assert not (tmp_path / "out").exists()


def test_overlap_with_given_dev_text_may_stay(tmp_path: Path) -> None:
    plain = configure(tmp_path, "out")
    dev = {"dev_source_files": plain.source_files, "dev_target_files": plain.target_files}
    files = {**dev, **{name.replace("dev", "test"): value for name, value in dev.items()}}
    rules = CleaningConfig(drop_overlap=False)
    dataset = build_with_beam(configure(tmp_path, "kept", **files, cleaning=rules))
    assert dataset.splits["train"].pairs == 500
    assert dataset.counts["train"]["length_ratio"] == 0  # a rule that found nothing says so
    with pytest.raises(UserError, match="no pair is left"):
        build_with_beam(configure(tmp_path, "dropped", **files))
