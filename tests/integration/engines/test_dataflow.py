"""Dataflow's own dry run: its runner translates the graph to a job and submits none.

The test then runs, in this process, the functions that the job would send to its workers.
"""

import socket
from pathlib import Path

import pytest
from apache_beam.internal import pickler
from apache_beam.options import pipeline_options
from apache_beam.portability import common_urns, python_urns
from apache_beam.portability.api import beam_runner_api_pb2

from pipeline.blocks.inventory import InputTask
from pipeline.corpora.inputs import file_texts
from pipeline.stages.beam_pipeline import make_pipeline
from pipeline.stages.make_dataset import Job
from pipeline.stages.runners import make_options
from tests.helpers.preprocessing import configure

pytest.importorskip("apitools", reason="needs Google's clients: pip install '.[gcp]'")

WHEEL = "beamformer-0.1.0-py3-none-any.whl"


def test_the_graph_is_one_job_of_dataflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / WHEEL).write_bytes(b"only staged")
    where = ["--project=some-project", "--region=europe-west4", "--temp_location=gs://bucket/tmp"]
    arguments = [*where, "--no_auth", f"--extra_package={tmp_path / WHEEL}"]
    options = make_options("DataflowRunner", 1, arguments, [])
    options.view_as(pipeline_options.TestOptions).dry_run = True
    monkeypatch.setattr(socket.socket, "connect", no_network)
    config = configure(tmp_path, "dataflow").resolved()
    job = Job(config, config.output_dir, "raw", "work", missing=("dev", "test"))
    tasks = [
        InputTask("train", number, texts)
        for number, texts in enumerate(file_texts(config.source_files, config.target_files))
    ]
    translated = make_pipeline(job, tasks, options).run().job
    google = translated.options.view_as(pipeline_options.GoogleCloudOptions)
    assert google.region == "europe-west4"
    (environment,) = translated.proto_pipeline.components.environments.values()
    assert environment.urn == common_urns.environments.DOCKER.urn
    staged = [dependency.role_payload.decode() for dependency in environment.dependencies]
    assert any(WHEEL in name for name in staged), staged
    functions = worker_functions(translated.proto_pipeline)
    for verb in ("ReadBlocks", "CleanPairs", "CountWords", "EncodePairs", "WriteManifest"):
        assert any(name.startswith(f"MakeDataset/{verb}/") for name in functions), verb


def worker_functions(job: beam_runner_api_pb2.Pipeline) -> list[str]:
    """Returns the names of a job's functions, each of which a worker can unpack."""
    names = []
    for transform in job.components.transforms.values():
        if transform.spec.urn == common_urns.primitives.PAR_DO.urn:
            payload = beam_runner_api_pb2.ParDoPayload.FromString(transform.spec.payload)
            if payload.do_fn.urn == python_urns.PICKLED_DOFN_INFO:
                pickler.loads(payload.do_fn.payload)
                names.append(transform.unique_name)
    return names


def no_network(*_: object) -> None:
    raise AssertionError("a dry run needs no network")
