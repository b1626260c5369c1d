from collections.abc import Iterator

import pytest
from apache_beam.options import pipeline_options

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.stages.beam_pipeline import BeamMapper
from pipeline.stages.runners import make_options
from pipeline.stages.stage import Stage, run_stage
from tests.helpers.object_store import OBJECTS, MemoryFileSystem
from tests.pipeline.stages.number_report import BLOCKS, FOLDER, NumberReport, fail_at_one


@pytest.fixture(autouse=True)
def _empty_store() -> Iterator[None]:
    OBJECTS.clear()
    yield
    OBJECTS.clear()
    storage.connect({})


def test_file_systems_of_a_worker_receive_the_options_of_the_driver() -> None:
    options = make_options("DirectRunner", 1, ["--s3_endpoint_url=http://there"], [])
    storage.connect({})  # as in a worker process
    BeamMapper(options)(Stage("Fail", fail_at_one, FOLDER, NumberReport), BLOCKS[:1])
    assert MemoryFileSystem.options.get_all_options()["s3_endpoint_url"] == "http://there"


def test_after_a_mistake_in_a_block_the_next_run_processes_only_that_block() -> None:
    map_blocks = BeamMapper(make_options("DirectRunner", 1, [], []))
    with pytest.raises(UserError, match="line 7 is bad"):
        run_stage(Stage("Fail", fail_at_one, FOLDER, NumberReport), BLOCKS, map_blocks)
    succeed = Stage("Succeed", lambda block: NumberReport(block.index + 10), FOLDER, NumberReport)
    reports = run_stage(succeed, BLOCKS, map_blocks)
    assert reports == [NumberReport(0), NumberReport(11), NumberReport(2)]


def test_a_missing_option_of_an_engine_is_named() -> None:
    options = make_options("DataflowRunner", 1, ["--temp_location=gs://bucket/tmp"], [])
    options.view_as(pipeline_options.TestOptions).dry_run = True  # asks no service
    with pytest.raises(UserError, match="(?s)--runner=DataflowRunner: .*project.*region"):
        BeamMapper(options).make_pipeline(Stage("Fail", fail_at_one, FOLDER, NumberReport), BLOCKS)
