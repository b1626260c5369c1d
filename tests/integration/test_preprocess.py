"""The command from raw text to a dataset directory, as a user runs it."""

import collections
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from absl import flags

from pipeline import cli, preprocess, schema, stages
from pipeline.build import build_dataset
from pipeline.config import PreprocessConfig
from pipeline.errors import UserError
from pipeline.runners import make_options
from pipeline.subwords import load_subwords
from pipeline.text import OVERLAP

ROOT = Path(__file__).resolve().parents[2]
WORDS = [
    ("dogs", "Hunde"),
    ("cats", "Katzen"),
    ("birds", "Vögel"),
    ("girls", "Mädchen"),
    ("boys", "Jungen"),
    ("bears", "Bären"),
    ("foxes", "Füchse"),
    ("horses", "Pferde"),
]


def make_corpus(folder: Path, pairs: int = 500) -> dict[str, tuple[str, ...]]:
    """Writes aligned text of different lengths; returns the fields that name the files."""
    source, target = [], []
    for number in range(pairs):
        digits = [int(digit) for digit in f"{number:o}"]
        source.append(" and ".join(WORDS[digit][0] for digit in digits) + " run.")
        target.append(" und ".join(WORDS[digit][1] for digit in digits) + " laufen.")
    folder.mkdir(exist_ok=True)
    for name, lines in (("train.en", source), ("train.de", target)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return {
        "source_files": (str(folder / "train.en"),),
        "target_files": (str(folder / "train.de"),),
    }


def configure(tmp_path: Path, output: str, **changes: object) -> PreprocessConfig:
    fields = {
        **make_corpus(tmp_path / "corpus"),
        "output_dir": str(tmp_path / output),
        "vocabulary_size": 310,
        "holdout_pairs": 20,
        "block_lines": 100,
        **changes,
    }
    return PreprocessConfig(**fields)  # type: ignore[arg-type]


def build(config: PreprocessConfig) -> schema.Dataset:
    return build_dataset(config, make_options(config.runner, config.num_workers, [], []))


def contents(directory: str | Path) -> dict[str, bytes]:
    files = (path for path in Path(directory).rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def read_pairs(dataset: schema.Dataset, split: str) -> list[tuple[str, str]]:
    subwords = load_subwords(dataset.path(dataset.subwords_path))
    pairs = []
    for shard in dataset.splits[split].shards:
        for record in schema.read_records(dataset.path(shard.path)):
            source, target = schema.parse_example(record)
            assert max(len(source), len(target)) <= shard.bucket_length
            source_line, target_line = subwords.decode([source, target])
            pairs.append((source_line, target_line))
    return pairs


def command(config: PreprocessConfig, **changes: str) -> list[str]:
    values = {
        "source_files": ",".join(config.source_files),
        "target_files": ",".join(config.target_files),
        "output_dir": config.output_dir,
        "vocabulary_size": str(config.vocabulary_size),
        "holdout_pairs": str(config.holdout_pairs),
        "block_lines": str(config.block_lines),
        **changes,
    }
    arguments = [f"--{name}={value}" for name, value in values.items()]
    return [sys.executable, "-m", "pipeline.preprocess", *arguments]


def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_every_pair_is_in_exactly_one_split_unchanged(tmp_path: Path) -> None:
    config = configure(tmp_path, "out")
    dataset = build(config)
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
    dataset = build(configure(tmp_path, "out"))
    dev = dataset.splits["dev"]
    assert dev.source_text and dev.target_text
    lines = [schema.read_lines(dataset.path(path)) for path in (dev.source_text, dev.target_text)]
    assert sorted(zip(*lines, strict=True)) == sorted(read_pairs(dataset, "dev"))


def test_the_data_card_accounts_for_every_pair(tmp_path: Path) -> None:
    config = configure(tmp_path, "out", max_length=12)
    with open(config.source_files[0], "a") as source, open(config.target_files[0], "a") as target:
        source.write("\nan only side\n" + "word " * 30 + "\n")
        target.write("nothing above\n\n" + "Wort " * 30 + "\n")
    counts = build(config).counts["train"]
    assert counts["read"] == 503
    assert counts["empty_side"] == 2
    assert counts["too_long"] > 0
    assert counts["read"] == sum(count for name, count in counts.items() if name != "read")


def test_given_dev_and_test_files_are_kept_whole_and_out_of_training(tmp_path: Path) -> None:
    config = configure(tmp_path, "out")
    sources, targets = (
        schema.read_lines(files[0]) for files in (config.source_files, config.target_files)
    )
    given = {}
    for split, start in (("dev", 0), ("test", 7)):
        for side, lines in (("source", sources), ("target", targets)):
            path = tmp_path / f"{split}.{side}"
            path.write_text("".join(f"  {line} \n" for line in [*lines[start : start + 7], ""]))
            given[f"{split}_{side}_files"] = (str(path),)
    dataset = build(configure(tmp_path, "out", **given))
    assert dataset.counts["train"][OVERLAP] == 14
    assert not set(read_pairs(dataset, "train")) & set(zip(sources[:14], targets[:14], strict=True))
    raw = schema.read_lines(dataset.path("dev/source.txt"))
    assert raw == [*(f"  {line} " for line in sources[:7]), "   "]
    assert dataset.splits["dev"].pairs == 7


def test_workers_runs_and_places_leave_the_same_bytes(tmp_path: Path) -> None:
    plain = build(configure(tmp_path, "one"))
    again = build(configure(tmp_path, "two", num_workers=2))
    assert contents(plain.directory) == contents(again.directory)


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_both_kinds_of_subwords_make_a_dataset(tmp_path: Path, kind: str) -> None:
    size = {"bpe": 310, "wordpiece": 55}[kind]
    dataset = build(configure(tmp_path, "out", subwords=kind, vocabulary_size=size))
    assert dataset.subwords == kind and dataset.vocabulary_size <= size
    assert len(read_pairs(dataset, "train")) == 460


def test_a_complete_directory_is_left_alone(tmp_path: Path) -> None:
    dataset = build(configure(tmp_path, "out"))
    times = {path: path.stat().st_mtime_ns for path in dataset.directory.rglob("*")}
    shutil.rmtree(tmp_path / "corpus")  # not even looked at
    (tmp_path / "corpus").mkdir()
    assert build(configure(tmp_path, "out")) == dataset
    assert times == {path: path.stat().st_mtime_ns for path in dataset.directory.rglob("*")}


def test_a_complete_directory_of_another_configuration_is_refused(tmp_path: Path) -> None:
    build(configure(tmp_path, "out"))
    message = "made with --max_length=256, received --max_length=99: choose another --output_dir"
    with pytest.raises(UserError, match=message):
        build(configure(tmp_path, "out", max_length=99))


def test_a_directory_of_other_files_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "out/train").mkdir(parents=True)
    (tmp_path / "out/train/thesis.txt").write_text("dear")
    with pytest.raises(UserError, match="holds files that are no dataset"):
        build(configure(tmp_path, "out"))
    assert contents(tmp_path / "out") == {"train/thesis.txt": b"dear"}


def test_killed_in_the_middle_then_run_again_is_as_if_never_killed(tmp_path: Path) -> None:
    config = configure(tmp_path, "killed", block_lines=2)
    staging = tmp_path / "killed/.staging/encoded"
    process = subprocess.Popen(
        command(config), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not list(staging.glob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 0 < len(list(staging.glob("*.json"))) < 250
    with pytest.raises(UserError, match="no COMPLETED"):
        schema.load_dataset(config.output_dir)
    killed = build(config)
    whole = build(configure(tmp_path, "whole", block_lines=2))
    assert contents(killed.directory) == contents(whole.directory)


@pytest.mark.parametrize("moved", range(5))
def test_killed_while_publishing_then_run_again_is_complete(
    tmp_path: Path, moved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure(tmp_path, "out")
    moves = []
    replace = os.replace

    def die_after_some(source: str, place: str) -> None:
        if "final" in str(source) and Path(place).parent == tmp_path / "out":
            moves.append(place)
            if len(moves) > moved:
                raise KeyboardInterrupt
        replace(source, place)

    monkeypatch.setattr(os, "replace", die_after_some)
    with pytest.raises(KeyboardInterrupt):
        build(config)
    monkeypatch.undo()
    with pytest.raises(UserError, match="no COMPLETED"):
        schema.load_dataset(config.output_dir)
    assert contents(build(config).directory) == contents(
        build(configure(tmp_path, "whole")).directory
    )


def test_a_full_disk_is_explained_and_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure(tmp_path, "out")
    monkeypatch.setattr(stages.EncodePairs, "_write_shard", full_disk)
    with pytest.raises(UserError, match="EncodePairs cannot write to .*: No space left on device"):
        build(config)
    monkeypatch.undo()
    assert contents(build(config).directory) == contents(build(configure(tmp_path, "b")).directory)


def full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_work_of_another_configuration_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="vocabulary_size=9999 is more than"):
        build(configure(tmp_path, "out", vocabulary_size=9999, block_lines=7))
    mixed = build(configure(tmp_path, "out"))
    assert contents(mixed.directory) == contents(build(configure(tmp_path, "new")).directory)


def test_the_command_reports_and_names_the_next_one(tmp_path: Path) -> None:
    config = configure(tmp_path, "out")
    result = run(command(config, runner="DirectRunner"))
    assert result.returncode == 0, result.stderr
    assert "train: 460 of 500 pairs" in result.stdout
    assert "padding efficiency" in result.stdout
    assert "python -m trainer.task --flagfile=configs/base.flags" in result.stdout
    assert f"--dataset_dir={config.output_dir}" in result.stdout
    assert "Traceback" not in result.stderr and "WARNING" not in result.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target_files": "{tmp}/short"}, "train.en has 500 lines but {tmp}/short has 2"),
        ({"source_files": "{tmp}/latin1"}, "{tmp}/latin1, line 4: byte 0xfc is not UTF-8"),
        ({"source_files": "{tmp}/empty", "target_files": "{tmp}/empty"}, "are empty"),
        ({"source_files": "{tmp}/nowhere"}, "no file {tmp}/nowhere"),
        ({"output_dir": "/proc/beamformer"}, "cannot use /proc/beamformer"),
        ({"vocabulary_size": "99999"}, "--vocabulary_size=99999 is more than this corpus can fill"),
        ({"max_length": "0"}, "received --max_length=0: expected at least 2"),
        ({"max_lenth": "9"}, "unknown flag --max_lenth; nearest: --max_length"),
    ],
)
def test_a_users_mistake_is_one_line(
    tmp_path: Path,
    changes: dict[str, str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = configure(tmp_path, "out")
    (tmp_path / "short").write_text("a\nb\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "latin1").write_bytes(b"a\n" * 3 + b"f\xfcr\n" + b"a\n" * 496)
    values = {name: value.format(tmp=tmp_path) for name, value in changes.items()}
    arguments = command(config, **values)[3:]
    monkeypatch.setattr(sys, "argv", ["preprocess", *arguments])
    code = run_in_process()
    error = capsys.readouterr().err
    last = error.strip().split("\n")[-1]
    assert code == 2
    assert last.startswith("error: ") and message.format(tmp=tmp_path) in last
    assert "Traceback" not in error


def run_in_process() -> object:
    """Runs the command with `sys.argv` and fresh flags; returns its exit code."""
    if "output_dir" not in flags.FLAGS:
        cli.define_flags(PreprocessConfig)
    flags.FLAGS.unparse_flags()
    for name in flags.FLAGS:
        flags.FLAGS[name].unparse()
    with pytest.raises(SystemExit) as exit:
        cli.run(preprocess.main, allow_unknown=True)
    return exit.value.code


def test_help_answers_without_beam() -> None:
    code = (
        "import sys; sys.argv[1:] = ['--help']\n"
        "import runpy\n"
        "try: runpy.run_module('pipeline.preprocess', run_name='__main__', alter_sys=True)\n"
        "except SystemExit as exit: print(exit.code, 'apache_beam' in sys.modules)\n"
    )
    result = run([sys.executable, "-c", code])
    assert result.stdout.endswith("0 False\n")
    assert "--vocabulary_size=N" in result.stdout


def test_the_built_in_corpus_is_what_comes_without_files(tmp_path: Path) -> None:
    dataset = build(PreprocessConfig(output_dir=str(tmp_path / "demo")))
    assert dataset.name == "builtin" and dataset.vocabulary_size == 2000
    assert dataset.splits["train"].pairs >= 20_000
    assert dataset.padding_efficiency["total"] > 0.9
    assert dataset.bucket_lengths[-1] < 100  # the longest pair there is, not --max_length
