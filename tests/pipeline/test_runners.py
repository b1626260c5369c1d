import pytest
from apache_beam.options.pipeline_options import DirectOptions, GoogleCloudOptions
from apache_beam.runners.portability.fn_api_runner import fn_runner

from pipeline.errors import UserError
from pipeline.runners import make_options, make_runner


def test_direct_runner_is_the_in_process_one() -> None:
    assert type(make_runner(make_options("DirectRunner", 1, [], []))) is fn_runner.FnApiRunner


def test_other_runners_keep_their_names_and_options() -> None:
    options = make_options("DataflowRunner", 1, ["--project=p", "--region", "r"], [])
    assert make_runner(options) == "DataflowRunner"
    cloud = options.view_as(GoogleCloudOptions)
    assert (cloud.project, cloud.region) == ("p", "r")


def test_the_number_of_workers_reaches_the_runner() -> None:
    options = make_options("DirectRunner", 3, [], [])
    assert options.view_as(DirectOptions).direct_num_workers == 3
    assert type(make_runner(options)) is fn_runner.FnApiRunner


@pytest.mark.parametrize(
    ("argument", "nearest"), [("--projct=p", "--project"), ("--max_lengt=3", "--max_length")]
)
def test_an_option_of_nobody_is_refused_with_the_nearest(argument: str, nearest: str) -> None:
    with pytest.raises(UserError, match=f"unknown flag .*nearest: {nearest}"):
        make_options("DirectRunner", 1, [argument], ["max_length"])


def test_an_abbreviated_beam_option_is_refused() -> None:
    with pytest.raises(UserError, match="unknown flag --projec;"):
        make_options("DirectRunner", 1, ["--projec=p"], [])
