"""Dataflow's own dry run: its runner translates every stage to a job and submits none.

What such a job tells a worker to run is then taken out of it and run here.
"""

import socket
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.internal import pickler
from apache_beam.options import pipeline_options
from apache_beam.portability import common_urns
from apache_beam.portability.api import beam_runner_api_pb2

from pipeline.build.driver import build_dataset
from pipeline.stages import beam_pipeline
from pipeline.stages.beam_pipeline import BeamMapper
from pipeline.stages.runners import make_options
from tests.helpers.preprocessing import build, configure, contents

pytest.importorskip("apitools", reason="needs Google's clients: pip install '.[gcp]'")

WHEEL = "beamformer-0.1.0-py3-none-any.whl"
VERBS = ["CleanPairs", "CountWords", "EncodePairs"]


def test_every_stage_is_a_job_of_dataflow_which_does_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / WHEEL).write_bytes(b"only staged")
    where = ["--project=some-project", "--region=europe-west4", "--temp_location=gs://bucket/tmp"]
    arguments = [*where, "--no_auth", f"--extra_package={tmp_path / WHEEL}"]
    options = make_options("DataflowRunner", 1, arguments, [])
    options.view_as(pipeline_options.TestOptions).dry_run = True
    verbs = []

    def translate_and_do(pipeline: beam.Pipeline) -> None:
        job = pipeline.run().job
        assert job.options.view_as(pipeline_options.GoogleCloudOptions).region == "europe-west4"
        (environment,) = job.proto_pipeline.components.environments.values()
        assert environment.urn == common_urns.environments.DOCKER.urn
        staged = [dependency.role_payload.decode() for dependency in environment.dependencies]
        assert any(WHEEL in name for name in staged), staged
        verb, function = worker_function(job.proto_pipeline)
        verbs.append(verb)
        for block in listed_blocks(pipeline):
            list(function.process(block))

    monkeypatch.setattr(beam_pipeline, "run_to_end", translate_and_do)
    monkeypatch.setattr(socket.socket, "connect", no_network)
    dataset = build_dataset(configure(tmp_path, "dataflow"), BeamMapper(options))
    monkeypatch.undo()
    assert verbs == VERBS
    whole = build(configure(tmp_path, "direct"))
    assert contents(dataset.directory) == contents(whole.directory)


def worker_function(job: beam_runner_api_pb2.Pipeline) -> tuple[str, beam.DoFn]:
    """Returns the verb of a job's stage and the function that a worker unpacks for it."""
    (stage,) = (
        transform
        for transform in job.components.transforms.values()
        if transform.unique_name.endswith("/ProcessBlock")
    )
    assert stage.spec.urn == common_urns.primitives.PAR_DO.urn
    payload = beam_runner_api_pb2.ParDoPayload.FromString(stage.spec.payload)
    return stage.unique_name.partition("/")[0], pickler.loads(payload.do_fn.payload)[0]


def listed_blocks(pipeline: beam.Pipeline) -> list[Any]:
    """Returns what a pipeline's `Create` holds."""
    (create,) = (
        part.transform
        for part in pipeline.transforms_stack[0].parts
        if isinstance(part.transform, beam.Create)
    )
    return list(create.values)


def no_network(*_: object) -> None:
    raise AssertionError("a dry run needs no network")
