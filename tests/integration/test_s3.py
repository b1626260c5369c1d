"""Real `s3://` paths: Beam's S3 file system and boto3 against a server on this machine."""

import dataclasses
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.build.driver import build_dataset
from pipeline.common import storage
from pipeline.stages.runners import make_options
from tests.helpers.commands import call, run_process, succeed
from tests.helpers.preprocessing import configure, contents, preprocess_flags
from tests.integration.engines.services import service, wait_for

boto3 = pytest.importorskip("boto3", reason="needs S3: pip install '.[aws]'")
pytest.importorskip("moto.server", reason="needs a stand-in for S3: pip install 'moto[server]'")

BUCKET = "s3://bucket"


@pytest.fixture(autouse=True)
def _parse_service_models_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beam makes an S3 client for each operation on a file, and each parses megabytes of JSON."""
    loaders = pytest.importorskip("botocore.loaders")
    parse = functools.cache(loaders.JSONFileLoader().load_file)
    monkeypatch.setattr(loaders.JSONFileLoader, "load_file", lambda _, path: parse(path))


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server with an empty bucket."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    log = tmp_path / "s3.log"
    with service(log, "moto.server", "--host=127.0.0.1", "--port=0"):
        address = wait_for(lambda: re.search(r"http://127\.0\.0\.1:\d+", log.read_text()), "S3")
        client = boto3.client("s3", endpoint_url=address[0], region_name="us-east-1")
        client.create_bucket(Bucket=BUCKET.removeprefix("s3://"))
        yield address[0]
    storage.connect({})


@pytest.mark.heavy
def test_s3_gets_the_bytes_of_a_local_folder(tmp_path: Path, endpoint: str) -> None:
    flags = {"s3_endpoint_url": endpoint, "s3_region_name": "us-east-1"}
    # Of this process; the command has its own.
    options = make_options("DirectRunner", 1, [f"--{n}={v}" for n, v in flags.items()], [])
    local = configure(tmp_path, "local", block_lines=500, holdout_pairs=0)
    files = {}
    for name in ("source_files", "target_files"):
        path = Path(getattr(local, name)[0])
        files[name] = (f"{BUCKET}/{path.name}",)
        storage.write_atomically(*files[name], path.read_bytes())
    local = dataclasses.replace(local, **files)  # type: ignore[arg-type]
    config = dataclasses.replace(local, output_dir=f"{BUCKET}/out")
    result = call("pipeline.preprocess", *preprocess_flags(config, **flags))
    assert result.returncode == 0, result.stderr
    assert "credentials" not in result.stderr and "listing" not in result.stderr
    names = storage.sizes(config.output_dir)
    stored = {name: storage.read(f"{config.output_dir}/{name}") for name in names}
    assert stored == contents(build_dataset(local, options).directory)
    assert stored["dev/source.txt"] == b""  # an empty object, for which Beam needs help


@pytest.mark.heavy
def test_workers_without_a_shared_disk_translate_with_a_model_on_s3(
    trained: Path, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = [f"--s3_endpoint_url={endpoint}", "--s3_region_name=us-east-1"]
    make_options("DirectRunner", 1, flags, [])  # of this process
    monkeypatch.setenv("TMPDIR", str(tmp_path / "worker"))
    (tmp_path / "worker").mkdir()
    saved_model = trained / "saved_model"
    for name in storage.sizes(saved_model):
        storage.write_atomically(f"{BUCKET}/model/{name}", (saved_model / name).read_bytes())
    text = "The old dog sleeps.\nHe sees the house.\n\nA child sings.\n"
    storage.write_atomically(f"{BUCKET}/in", text.encode())
    command = [
        "trainer.translate", f"--saved_model={BUCKET}/model", f"--input_file={BUCKET}/in",
        f"--output_file={BUCKET}/out", "--block_lines=2", "--runner=DirectRunner",
        "--num_workers=2", *flags,
    ]  # fmt: skip
    result = run_process("-m", *command)
    assert result.returncode == 0, result.stderr
    expected = succeed("trainer.translate", f"--saved_model={saved_model}", stdin=text)
    assert storage.read(f"{BUCKET}/out").decode() == expected
    (copy,) = (tmp_path / "worker" / "beamformer-saved-models").iterdir()
    assert (copy / "saved_model.pb").read_bytes() == (saved_model / "saved_model.pb").read_bytes()
    assert storage.entries(BUCKET) == {"model", "in", "out"}
