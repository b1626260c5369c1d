"""Whole runs on several replicas and workers: evaluation, checkpoints, resuming, averaging."""

import contextlib
import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from model.config import SearchConfig, TransformerConfig
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.corpora.builtin import generate_pairs
from pipeline.dataset.schema import load_dataset
from tests.helpers.commands import start
from tests.helpers.preprocessing import build
from trainer.config import TrainingConfig
from trainer.runs.run_directory import load_run, lock_run_directory, open_run
from trainer.training import finalize, loop
from trainer.training.construction import prepare_training_model
from trainer.training.train_step import TrainingModel

TRANSFORMER: dict[str, Any] = {
    "num_layers": 1,
    "model_dim": 16,
    "feed_forward_dim": 16,
    "num_heads": 2,
}
SEARCH: dict[str, Any] = {"beam_size": 1, "extra_length": 1}
# Adam divides by the gradient's size: with the paper's ε, rounding errors would decide the sign.
TRAINING: dict[str, Any] = {
    "tokens_per_batch": 256,
    "warmup_steps": 5,
    "learning_rate_scale": 2,
    "adam_epsilon": 1e-3,
    "log_every_steps": 1,
}


@pytest.fixture(scope="module")
def dataset_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset directory."""
    folder = tmp_path_factory.mktemp("text")
    for side, name in enumerate(("en", "de")):
        lines = [pair[side] + "\n" for pair in generate_pairs("train")[:400]]
        (folder / name).write_text("".join(lines), "utf-8")
    config = PreprocessConfig(
        source_files=(str(folder / "en"),),
        target_files=(str(folder / "de"),),
        output_dir=str(folder / "data"),
        vocabulary_size=400,
        holdout_pairs=5,
    )
    return Path(build(config).directory)


@pytest.mark.heavy
def test_a_mirrored_run_stops_resumes_and_finishes(
    dataset_dir: Path,
    tmp_path: Path,
    eight_cpus: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    strategy = tf.distribute.MirroredStrategy(
        eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    monkeypatch.setattr(loop, "make_strategy", lambda: strategy)
    monkeypatch.setattr(finalize, "evaluate_dev", lambda *_: {"perplexity": 9.0, "bleu": 3.0})
    training_models: list[TrainingModel] = []

    def prepare(*arguments: Any) -> TrainingModel:
        training_models.append(prepare_training_model(*arguments))
        return training_models[-1]

    monkeypatch.setattr(loop, "prepare_training_model", prepare)

    def train(steps: int) -> signal.Signals | None:
        config = TrainingConfig(
            dataset_dir=str(dataset_dir),
            run_dir=str(tmp_path / "run"),
            train_steps=steps,
            tokens_per_batch=256,
            checkpoint_every_steps=2,
            eval_every_steps=4,
            log_every_steps=1,
        )
        search = SearchConfig(beam_size=2, extra_length=1)
        small = TransformerConfig(**TRANSFORMER)
        return loop.train(small, config, search, load_dataset(dataset_dir))

    assert train(steps=2) is None
    assert train(steps=4) is None
    rows = [json.loads(row) for row in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "train/loss" in row] == [1, 2, 3, 4]
    assert [row["step"] for row in rows if "dev/bleu" in row] == [4]
    result = json.loads((tmp_path / "run/train.json").read_text())
    assert result["averaged_steps"] == [2, 4]
    for training_model in training_models:  # fresh and resumed, each replica drops other units
        for state in training_model.transformer.non_trainable_variables:
            first, second = strategy.experimental_local_results(state.value)
            assert list(second - first) == [1, 0]


def test_a_run_that_stopped_early_is_finished(
    dataset_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([5.0, 7.0, 6.0, 7.0, 1.0])  # the last is never requested
    monkeypatch.setattr(loop, "evaluate_dev", lambda *_, **__: {"bleu": next(scores)})
    monkeypatch.setattr(loop, "show_samples", lambda *_: None)
    monkeypatch.setattr(finalize, "evaluate_dev", lambda *_: {"perplexity": 9.0, "bleu": 3.0})
    config = TrainingConfig(
        dataset_dir=str(dataset_dir),
        run_dir=str(tmp_path / "run"),
        train_steps=9,
        tokens_per_batch=256,
        checkpoint_every_steps=1,
        keep_checkpoints=1,
        average_checkpoints=1,
        eval_every_steps=1,
        early_stopping_patience=2,
    )
    small = TransformerConfig(**TRANSFORMER)
    results = tmp_path / "run/train.json"
    # The second call finds a finished run; the third, one that was killed just before.
    for killed in (False, False, True):
        if killed:
            results.unlink()
        assert loop.train(small, config, SearchConfig(), load_dataset(dataset_dir)) is None
        assert json.loads(results.read_text())["steps"] == 4
    assert [path.name for path in (tmp_path / "run/best").iterdir()] == ["step-00000002"]
    assert next(scores) == 1.0


def test_a_run_in_use_is_not_written_to_by_another(dataset_dir: Path, tmp_path: Path) -> None:
    config = TrainingConfig(dataset_dir=str(dataset_dir), run_dir=str(tmp_path / "run"))
    dataset = load_dataset(dataset_dir)
    four_heads = TransformerConfig(**{**TRANSFORMER, "num_heads": 4})
    with lock_run_directory(config.run_dir):
        run = open_run(TransformerConfig(**TRANSFORMER), config, SearchConfig(), dataset)
        with pytest.raises(UserError, match="another process is training in"):
            loop.train(four_heads, config, SearchConfig(), dataset)
    assert load_run(config.run_dir) == run


@contextlib.contextmanager
def two_workers(*arguments: object) -> Iterator[list[subprocess.Popen[str]]]:
    """Starts the training command as two workers of this machine, the chief first."""
    with contextlib.ExitStack() as sockets:
        bound = [sockets.enter_context(socket.socket()) for _ in range(2)]
        for bound_socket in bound:
            bound_socket.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{bound_socket.getsockname()[1]}" for bound_socket in bound]
    cluster = {"worker": addresses}
    workers = []
    try:
        for index in range(2):
            task = {"type": "worker", "index": index}
            config = {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}
            workers.append(start("-m", "trainer.task", *arguments, variables=config))
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def last_weights(run_dir: Path) -> dict[str, np.ndarray]:
    last = max((run_dir / "checkpoints").glob("step-*"))
    with np.load(last / "weights.npz") as file:
        return dict(file)


@pytest.mark.heavy
def test_two_workers_stop_together_resume_and_make_the_updates_of_one_process(
    dataset_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir, alone = tmp_path / "workers", tmp_path / "alone"
    settings = {**TRANSFORMER, **SEARCH, **TRAINING, "dropout": 0}
    command = [f"--{name}={value}" for name, value in settings.items()]
    command += [f"--dataset_dir={dataset_dir}", f"--run_dir={run_dir}"]
    metrics = run_dir / "metrics.jsonl"
    with two_workers(*command, "--train_steps=100000") as workers:
        while not (metrics.exists() and metrics.read_text()):
            assert all(worker.poll() is None for worker in workers), workers[0].communicate()
            time.sleep(0.02)
        workers[1].send_signal(signal.SIGTERM)  # not the one that writes
        for worker in workers:
            _, stderr = worker.communicate(timeout=300)
            assert worker.returncode == 128 + signal.SIGTERM, stderr
            assert "same command again" in stderr
    (interrupted,) = (run_dir / "checkpoints").iterdir()
    steps = json.loads((interrupted / "checkpoint.json").read_text())["step"] + 2
    with two_workers(*command, f"--train_steps={steps}") as workers:
        errors = [worker.communicate(timeout=300)[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], errors
    assert "loss" in errors[0] and "loss" not in errors[1]  # the chief alone reports
    rows = [json.loads(row) for row in metrics.read_text().splitlines()]
    assert [row["step"] for row in rows] == list(range(1, steps + 1))
    # Two parts on one device are the same batches as one part on each of two.
    monkeypatch.setattr(finalize, "evaluate_dev", lambda *_: {"perplexity": 9.0, "bleu": 3.0})
    stopped_by = loop.train(
        TransformerConfig(**TRANSFORMER, dropout=0.0),
        TrainingConfig(
            dataset_dir=str(dataset_dir),
            run_dir=str(alone),
            train_steps=steps,
            gradient_accumulation=2,
            **TRAINING,
        ),
        SearchConfig(**SEARCH),
        load_dataset(dataset_dir),
    )
    assert stopped_by is None
    alone_rows = [json.loads(row) for row in (alone / "metrics.jsonl").read_text().splitlines()]
    for workers_row, row in zip(rows, alone_rows, strict=True):
        assert workers_row["train/nll"] == pytest.approx(row["train/nll"], rel=1e-4)
    expected = last_weights(alone)
    for name, weights in last_weights(run_dir).items():
        np.testing.assert_allclose(weights, expected[name], atol=1e-4, err_msg=name)
    assert json.loads((run_dir / "train.json").read_text())["steps"] == steps
