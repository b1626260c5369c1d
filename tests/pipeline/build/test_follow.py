"""What the driver shows while workers leave reports."""

import json
from pathlib import Path

import pytest

from pipeline.blocks.inventory import STATUS, VERBS
from pipeline.build import follow


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_SECONDS_BETWEEN_LOOKS", {False: 0.01})


def report(work: Path, verb: str, number: int) -> None:
    (work / "done" / verb / f"train-{number:05d}.json").write_text("{}")


def begin(work: Path, remarks: tuple[str, ...] = ()) -> None:
    for verb in VERBS:
        (work / "done" / verb).mkdir(parents=True, exist_ok=True)
    status = {"lines": {"train": 50, "dev": 5}, "blocks": {"train": 3, "dev": 1}}
    (work / STATUS).write_text(json.dumps({**status, "remarks": remarks}))


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Returns the lines without their rates, which depend on time."""
    return [
        record.getMessage().rpartition(" lines,")[0] or record.getMessage()
        for record in caplog.records
    ]


def test_each_verb_is_shown_to_its_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with follow.follow_job(str(tmp_path), 2, 20):
        begin(tmp_path, ("a remark",))
        for verb in VERBS:
            for number in range(4 if verb != "CountWords" else 3):
                report(tmp_path, verb, number)
    assert [line.split(":")[0] for line in lines_of(caplog)] == [
        "ReadBlocks", "ReadBlocks", "a remark", *(verb for verb in VERBS for _ in "ab"),
    ]  # fmt: skip
    assert "CleanPairs: done, 55 of 55" in lines_of(caplog)
    assert "CountWords: done, 50 of 50" in lines_of(caplog)
    assert "EncodePairs: done, 55 of 55" in lines_of(caplog)


def test_a_verb_without_work_is_not_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with follow.follow_job(str(tmp_path), 1, 20):
        begin(tmp_path)
        for number in range(4):
            report(tmp_path, "CleanPairs", number)
            report(tmp_path, "EncodePairs", number)
    assert not [line for line in lines_of(caplog) if line.startswith("CountWords")]


def test_a_job_that_fails_is_shown_as_stopped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with pytest.raises(ZeroDivisionError), follow.follow_job(str(tmp_path), 1, 20):
        begin(tmp_path)
        report(tmp_path, "CleanPairs", 0)
        (tmp_path / "done/CleanPairs/train-00001.json.0.tmp").write_text("half")
        raise ZeroDivisionError
    assert lines_of(caplog)[-1].startswith("CleanPairs: stopped, 20 of 55")


def test_a_job_without_an_inventory_reads_to_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    (tmp_path / STATUS).write_text("of an earlier run")
    with pytest.raises(ZeroDivisionError), follow.follow_job(str(tmp_path), 7, 20):
        raise ZeroDivisionError
    assert lines_of(caplog)[-1].startswith("ReadBlocks: stopped, 0 of 7 inputs")
