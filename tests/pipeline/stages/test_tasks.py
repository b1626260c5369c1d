from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to

from pipeline.blocks.step import Step
from pipeline.blocks.stop import Stop
from pipeline.common import storage
from pipeline.common.errors import ResumableError, UserError
from pipeline.stages.tasks import ProcessBlocks, RunOnce
from tests.helpers.beam import pipeline, singleton
from tests.helpers.object_store import OBJECTS, MemoryFileSystem
from tests.pipeline.blocks.number_report import BLOCKS, FOLDER, NumberReport, fail_at_one

FAILED = Stop((0, 1), "line 7 is bad")


@pytest.fixture(autouse=True)
def _empty_store() -> Iterator[None]:
    OBJECTS.clear()
    yield
    OBJECTS.clear()
    storage.connect({})


def test_a_mistake_in_a_block_is_a_result_and_the_others_are_finished() -> None:
    with pipeline() as p:
        step = Step("Fail", fail_at_one, FOLDER, NumberReport)
        results = p | beam.Create(BLOCKS) | ProcessBlocks(step)
        finished = [(BLOCKS[0], NumberReport(0)), (BLOCKS[2], NumberReport(2))]
        assert_that(results, equal_to([*finished, FAILED]))


def test_blocks_are_not_processed_once_an_input_is_a_stop() -> None:
    with pipeline() as p:
        step = Step("Fail", fail_at_one, FOLDER, NumberReport)
        shared = singleton(p, "Stop", FAILED), singleton(p, "Value", 3)
        results = p | beam.Create([*BLOCKS, FAILED]) | ProcessBlocks(step, *shared)
        assert_that(results, equal_to([]))
    assert not OBJECTS


def test_reports_are_counted_on_the_engine() -> None:
    step = Step("Number", lambda block: NumberReport(block.index), FOLDER, NumberReport)
    with pipeline() as p:
        p | beam.Create(BLOCKS) | ProcessBlocks(step)
    (counter,) = p.result.metrics().query()["counters"]
    assert (counter.key.metric.namespace, counter.key.metric.name) == ("Number", "train/number")
    assert counter.committed == 0 + 1 + 2


def test_a_single_task_gets_its_inputs() -> None:
    with pipeline() as p:
        values = beam.pvalue.AsList(p | beam.Create([1, 2]))
        result = p | RunOnce(lambda a, b: a + sum(b), singleton(p, "Three", 3), values)
        assert_that(result, equal_to([6]))


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [([Stop((1, 0), "b"), 3, Stop((0, 5), "a")], Stop((0, 5), "a")), ([Stop(), 3], Stop())],
)
def test_a_single_task_returns_the_first_stop(inputs: list[Any], expected: Stop) -> None:
    with pipeline() as p:
        values = beam.pvalue.AsList(p | beam.Create(inputs))
        assert_that(p | RunOnce(lambda _: 1 / 0, values), equal_to([expected]))


@pytest.mark.parametrize("kind", [UserError, ResumableError])
def test_a_mistake_in_a_single_task_is_its_result(kind: type[UserError]) -> None:
    def fail() -> None:
        raise kind("no library")

    stop = Stop((), "no library", kind is ResumableError)
    assert type(stop.to_error()) is kind and str(stop.to_error()) == "no library"
    with pipeline() as p:
        assert_that(p | RunOnce(fail), equal_to([stop]))


def test_file_systems_of_a_worker_receive_the_options_of_the_driver() -> None:
    with pipeline("--s3_endpoint_url=http://there") as p:
        p | RunOnce(lambda: storage.write_atomically(f"{FOLDER}/x", b"1"))
    assert MemoryFileSystem.options.get_all_options()["s3_endpoint_url"] == "http://there"
