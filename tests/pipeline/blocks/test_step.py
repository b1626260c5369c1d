from collections.abc import Iterator

import pytest

from pipeline.blocks.step import Step
from pipeline.common.errors import UserError
from tests.helpers.object_store import OBJECTS, objects
from tests.pipeline.blocks.number_report import BLOCKS, FOLDER, NumberReport, fail_at_one


@pytest.fixture(autouse=True)
def _empty_store() -> Iterator[None]:
    OBJECTS.clear()
    yield
    OBJECTS.clear()


def test_a_finished_block_has_a_report_and_a_failed_one_has_none() -> None:
    step = Step("Fail", fail_at_one, FOLDER, NumberReport)
    assert step.process(BLOCKS[0]) == NumberReport(0)
    with pytest.raises(UserError, match="line 7 is bad"):
        step.process(BLOCKS[1])
    assert objects(FOLDER).keys() == {"train-00000.json"}


def test_a_finished_block_is_not_processed_again() -> None:
    Step("Fail", fail_at_one, FOLDER, NumberReport).process(BLOCKS[0])
    before = objects(FOLDER)
    again = Step("Fail", lambda block: NumberReport(99), FOLDER, NumberReport)
    assert again.process(BLOCKS[0]) == NumberReport(0)
    assert objects(FOLDER) == before


def test_what_all_blocks_share_is_passed_on() -> None:
    step = Step("Add", lambda block, *shared: NumberReport(sum(shared)), FOLDER, NumberReport)
    assert step.process(BLOCKS[2], 3, 4) == NumberReport(7)
