"""`train` makes the same run as the command, and leaves the process unchanged."""

import os
import signal
from pathlib import Path
from typing import Any

import keras
import pytest

import beamformer as bf
from pipeline.dataset.schema import Dataset
from tests.beamformer.conftest import TINY
from trainer.training import loop
from trainer.training.stopping import InputWatchdog


def test_a_finished_run_is_loaded_at_once(
    run_dir: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "train", None)
    model = bf.train(dataset_dir=dataset.directory, run_dir=run_dir, **TINY)
    assert model
    assert repr(model) == f"<TrainedTranslator en→de, {run_dir}, step 4>"
    assert model.run.training.train_steps == 4
    assert model.search == bf.SearchConfig(beam_size=2, extra_length=3)


def test_another_configuration_is_refused(run_dir: Path, dataset: Dataset) -> None:
    with pytest.raises(bf.UserError, match="--model_dim was 16, now 18; set another --run_dir"):
        bf.train(dataset_dir=dataset.directory, run_dir=run_dir, **{**TINY, "model_dim": 18})


def test_mistakes_are_those_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(bf.UserError, match="^unknown flag --steps; nearest: "):
        bf.train(steps=4)
    with pytest.raises(bf.UserError, match="^received --num_heads=3 with --model_dim=16: expected"):
        bf.train(**{**TINY, "num_heads": 3})
    with pytest.raises(bf.UserError, match=f"{tmp_path}"):
        bf.train(dataset_dir=tmp_path, run_dir=tmp_path / "run")


def test_a_dry_run_prints_its_estimate(
    dataset: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {**TINY, "mixed_precision": "bfloat16", "dry_run": True}
    assert bf.train(dataset_dir=dataset.directory, run_dir=tmp_path / "run", **settings) is None
    assert "parameters" in capsys.readouterr().out
    assert not (tmp_path / "run").exists()
    assert keras.config.dtype_policy().name == "float32", "the notebook's own"


def test_an_interrupt_saves_and_the_same_call_goes_on(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    settings = {**TINY, "train_steps": 3, "checkpoint_every_steps": 0}
    settings |= {"dataset_dir": dataset.directory, "run_dir": tmp_path / "run"}

    def interrupt(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt, match="checkpoint"):
        patched.setattr(InputWatchdog, "on_train_batch_end", interrupt)
        bf.train(**settings)
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["step-00000001"]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    assert repr(bf.train(**settings)).endswith("step 3>")


def test_another_signal_is_passed_on_to_the_program(
    monkeypatch: pytest.MonkeyPatch, dataset: Dataset, tmp_path: Path
) -> None:
    received: list[int] = []
    previous = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    monkeypatch.setattr(loop, "train", lambda *_: signal.SIGTERM)
    try:
        with pytest.raises(KeyboardInterrupt):
            bf.train(dataset_dir=dataset.directory, run_dir=tmp_path / "run", **TINY)
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert received == [signal.SIGTERM]


def test_an_error_hands_signals_back(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keras ends no callback after an error, so one that handles signals would go on."""

    def failing(*_: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise bf.UserError("the loss became nan")

    monkeypatch.setattr(loop, "train", failing)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(bf.UserError, match="the loss became nan"):
        bf.train(dataset_dir=dataset.directory, run_dir=tmp_path / "run", **TINY)
    assert signal.getsignal(signal.SIGINT) == handler


def test_another_backend_is_refused(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(bf.UserError, match="received Keras on jax: expected TensorFlow"):
        bf.train(dataset_dir=dataset.directory, run_dir=tmp_path / "run", **TINY)
