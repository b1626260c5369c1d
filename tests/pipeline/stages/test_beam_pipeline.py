import apache_beam as beam
import pytest
from apache_beam.options import pipeline_options

from pipeline.common.errors import ResumableError, UserError
from pipeline.config import PreprocessConfig
from pipeline.stages import beam_pipeline
from pipeline.stages.make_dataset import Job
from pipeline.stages.runners import make_options

JOB = Job(PreprocessConfig(), "out", "out/raw", "out/work", missing=("dev", "test"))


def test_a_missing_option_of_an_engine_is_named() -> None:
    options = make_options("DataflowRunner", 1, ["--temp_location=gs://bucket/tmp"], [])
    options.view_as(pipeline_options.TestOptions).dry_run = True  # asks no service
    with pytest.raises(UserError, match="(?s)--runner=DataflowRunner: .*project.*region"):
        beam_pipeline.make_pipeline(JOB, [], options)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (
            "OSError: [Errno 28] No space left on device: '/a/b' [while running "
            "'MakeDataset/EncodePairs/ProcessBlock-ptransform-12']\n more",
            "EncodePairs: cannot write /a/b: No space left on device; free some space; running the",
        ),
        ("OSError: [Errno 28] No space left on device", "cannot write out/work: No space"),
        (
            "PermissionError: [Errno 13] Permission denied: '/a' [while running "
            "'MakeDataset/CleanPairs/ProcessBlock']",
            "CleanPairs: Permission denied: '/a'; every worker must .* out/work; running the same",
        ),
    ],
)
def test_a_failure_of_a_file_system_is_explained(
    failure: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(pipeline: beam.Pipeline) -> None:
        raise RuntimeError(failure)

    monkeypatch.setattr(beam_pipeline, "run_to_end", fail)
    with pytest.raises(ResumableError, match=f"^{expected}"):
        beam_pipeline.run(JOB, [], make_options("DirectRunner", 1, [], []))


def test_another_failure_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(pipeline: beam.Pipeline) -> None:
        raise RuntimeError("a defect") from ZeroDivisionError()

    monkeypatch.setattr(beam_pipeline, "run_to_end", fail)
    with pytest.raises(RuntimeError, match="a defect") as raised:
        beam_pipeline.run(JOB, [], make_options("DirectRunner", 1, [], []))
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
