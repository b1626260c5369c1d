from collections.abc import Iterator

import pytest
from apache_beam.options import pipeline_options

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.corpora.blocks import Block, Span
from pipeline.stages.beam_pipeline import Stage, collect, make_pipeline, run_stage
from pipeline.stages.block_stages import Report
from pipeline.stages.runners import make_options
from tests.helpers.object_store import OBJECTS, MemoryFileSystem, objects

FOLDER = "mem://bucket/stage"
NOWHERE = Span("", 0, 0, "", 1)
BLOCKS = [Block("train", index, 1, NOWHERE, NOWHERE) for index in range(3)]


def fail_at_one(block: Block) -> Report:
    if block.index == 1:
        raise UserError("line 7 is bad")
    return {"block": block.index}


@pytest.fixture(autouse=True)
def _empty_store() -> Iterator[None]:
    OBJECTS.clear()
    yield
    OBJECTS.clear()
    storage.connect({})


def test_a_worker_tells_file_systems_the_options_of_the_driver() -> None:
    Stage("Fail", fail_at_one, FOLDER, {"s3_endpoint_url": "http://there"}).process(BLOCKS[0])
    assert MemoryFileSystem.options.get_all_options()["s3_endpoint_url"] == "http://there"


def test_blocks_with_reports_are_finished_and_errors_are_not() -> None:
    stage = Stage("Fail", fail_at_one, FOLDER)
    assert [stage.process(block) for block in BLOCKS] == [block.name for block in BLOCKS]
    assert stage.finished() == {"train-00000", "train-00002"}
    assert collect(stage, [BLOCKS[2], BLOCKS[0]]) == [{"block": 2}, {"block": 0}]
    with pytest.raises(UserError, match="line 7 is bad"):
        collect(stage, BLOCKS)


def test_an_error_of_an_earlier_run_is_forgotten() -> None:
    options = make_options("DirectRunner", 1, [], [])
    with pytest.raises(UserError, match="line 7 is bad"):
        run_stage(Stage("Fail", fail_at_one, FOLDER), BLOCKS, options)
    succeed = Stage("Succeed", lambda block: {"block": block.index + 10}, FOLDER)
    reports = run_stage(succeed, BLOCKS, options)
    assert reports == [{"block": 0}, {"block": 11}, {"block": 2}]


def test_a_finished_block_is_not_done_again() -> None:
    Stage("Fail", fail_at_one, FOLDER).process(BLOCKS[0])
    before = objects(FOLDER)
    Stage("Fail", lambda block: {"block": "again"}, FOLDER).process(BLOCKS[0])
    assert objects(FOLDER) == before


def test_an_option_that_an_engine_lacks_is_named() -> None:
    options = make_options("DataflowRunner", 1, ["--temp_location=gs://bucket/tmp"], [])
    options.view_as(pipeline_options.TestOptions).dry_run = True  # asks no service
    with pytest.raises(UserError, match="(?s)--runner=DataflowRunner: .*project.*region"):
        make_pipeline(Stage("Fail", fail_at_one, FOLDER), BLOCKS, options)
