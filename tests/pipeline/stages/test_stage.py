from collections.abc import Iterator

import pytest

from pipeline.common.errors import ResumableError, UserError
from pipeline.corpora.blocks import Block
from pipeline.stages.stage import Stage, read_reports, run_stage
from tests.helpers.object_store import OBJECTS, objects
from tests.helpers.preprocessing import map_in_order
from tests.pipeline.stages.number_report import BLOCKS, FOLDER, NumberReport, fail_at_one


@pytest.fixture(autouse=True)
def _empty_store() -> Iterator[None]:
    OBJECTS.clear()
    yield
    OBJECTS.clear()


def test_blocks_with_reports_are_finished_and_errors_are_not() -> None:
    stage = Stage("Fail", fail_at_one, FOLDER, NumberReport)
    assert [stage.process(block) for block in BLOCKS] == [block.name for block in BLOCKS]
    assert stage.finished() == {"train-00000", "train-00002"}
    assert read_reports(stage, [BLOCKS[2], BLOCKS[0]]) == [NumberReport(2), NumberReport(0)]
    with pytest.raises(UserError, match="line 7 is bad"):
        read_reports(stage, BLOCKS)


def test_an_error_of_an_earlier_run_is_cleared() -> None:
    with pytest.raises(UserError, match="line 7 is bad"):
        run_stage(Stage("Fail", fail_at_one, FOLDER, NumberReport), BLOCKS, map_in_order)
    succeed = Stage("Succeed", lambda block: NumberReport(block.index + 10), FOLDER, NumberReport)
    reports = run_stage(succeed, BLOCKS, map_in_order)
    assert reports == [NumberReport(0), NumberReport(11), NumberReport(2)]


def test_a_finished_block_is_not_processed_again() -> None:
    Stage("Fail", fail_at_one, FOLDER, NumberReport).process(BLOCKS[0])
    before = objects(FOLDER)
    Stage("Fail", lambda block: NumberReport(99), FOLDER, NumberReport).process(BLOCKS[0])
    assert objects(FOLDER) == before


def test_finished_blocks_do_not_reach_the_mapper() -> None:
    stage = Stage("Succeed", lambda block: NumberReport(block.index), FOLDER, NumberReport)
    stage.process(BLOCKS[1])
    mapped = []

    def map_and_record(stage: Stage, blocks: list[Block]) -> None:
        mapped.extend(blocks)
        map_in_order(stage, blocks)

    reports = run_stage(stage, BLOCKS, map_and_record)  # type: ignore[arg-type]
    assert mapped == [BLOCKS[0], BLOCKS[2]]
    assert reports == [NumberReport(0), NumberReport(1), NumberReport(2)]


def test_reports_are_in_block_order_for_any_order_of_the_mapper() -> None:
    def map_backwards(stage: Stage, blocks: list[Block]) -> None:
        map_in_order(stage, blocks[::-1])

    stage = Stage("Succeed", lambda block: NumberReport(block.index), FOLDER, NumberReport)
    reports = run_stage(stage, BLOCKS, map_backwards)  # type: ignore[arg-type]
    assert reports == [NumberReport(0), NumberReport(1), NumberReport(2)]


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (
            "worker: OSError: [Errno 28] No space left on device: '/a/b' [while running]\n more",
            "Count: cannot write /a/b: No space left on device; free some space; running the same",
        ),
        ("OSError: [Errno 28] No space left on device", f"Count: cannot write {FOLDER}: No space"),
        (
            "PermissionError: [Errno 13] Permission denied: '/a' [while running]",
            f"Count: Permission denied: '/a'; every worker must .* {FOLDER}; running the same",
        ),
    ],
)
def test_a_failure_of_a_file_system_is_explained(failure: str, expected: str) -> None:
    def fail(stage: Stage, blocks: object) -> None:
        raise RuntimeError(failure)

    with pytest.raises(ResumableError, match=expected):
        run_stage(Stage("Count", fail_at_one, FOLDER, NumberReport), BLOCKS, fail)


@pytest.mark.parametrize("kind", [UserError, ResumableError])
def test_a_workers_error_keeps_its_kind(kind: type[UserError]) -> None:
    def fail(block: Block) -> NumberReport:
        raise kind("no library")

    with pytest.raises(UserError, match="^no library$") as raised:
        run_stage(Stage("Count", fail, FOLDER, NumberReport), BLOCKS, map_in_order)
    assert raised.type is kind
