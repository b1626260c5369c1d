"""The command that shows a dataset directory, as a user runs it."""

from pathlib import Path

import pytest

from tests.helpers.commands import refuse, run_process, succeed
from tests.helpers.preprocessing import build, configure


def test_the_card_is_shown_and_checked_and_damage_is_named(tmp_path: Path) -> None:
    dataset = build(configure(tmp_path, "out"))
    shown = succeed("pipeline.inspect", dataset.directory, "--samples=1")
    assert "Buckets of train" in shown and shown.count("  en  ") == 1
    checked = succeed("pipeline.inspect", "--verify", dataset.directory)
    assert checked.endswith("files, every checksum matches\n")
    shard = dataset.splits["train"].shards[-1]
    path = Path(dataset.path(shard.path))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert shard.path in refuse("pipeline.inspect", dataset.directory, "--verify")


@pytest.mark.heavy
def test_wordpieces_are_shown_without_notices_of_tensorflow(tmp_path: Path) -> None:
    config = configure(tmp_path, "out", subwords="wordpiece", vocabulary_size=55)
    result = run_process("-m", "pipeline.inspect", build(config).directory)
    assert (result.returncode, result.stderr) == (0, "")
    assert " wordpiece subwords" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "received nothing: expected one dataset directory"),
        (["a", "b"], "received a b: expected one dataset directory"),
        (["nowhere"], "no dataset at nowhere: make it with python -m pipeline.preprocess"),
        (["a", "--verfy"], "unknown flag --verfy; nearest: --verify"),
        (["a", "--samples=-1"], "received --samples=-1: expected at least 0"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str) -> None:
    assert message in refuse("pipeline.inspect", *arguments)
