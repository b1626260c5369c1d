"""What an export checks before it starts."""

from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

from pipeline.common.errors import UserError
from trainer.exporters import saved_model
from trainer.exporters.driver import ExportConfig, export_run
from trainer.inference import translator
from trainer.runs.run_directory import Run
from trainer.runs.trained_model import TrainedModels


def test_a_directory_that_is_not_an_export_is_kept(
    make_run: Callable[..., Run], tmp_path: Path
) -> None:
    (tmp_path / "precious").touch()
    run, config = make_run(), ExportConfig(str(tmp_path))
    with pytest.raises(UserError, match="exists and is not an exported model"):
        export_run(run, TrainedModels(), run.search, config)
    assert (tmp_path / "precious").exists()


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        tf.errors.ResourceExhaustedError(None, None, "Failed to write; No space left on device"),
    ],
)
def test_a_full_disk_is_one_line_and_leaves_the_earlier_export_alone(
    make_run: Callable[..., Run], tmp_path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_the_disk(translator: object, directory: Path, **_: object) -> None:
        directory.mkdir()
        (directory / "half").write_text("the")
        raise error

    monkeypatch.setattr(translator, "load_translator", lambda *_, **__: (None, None))
    monkeypatch.setattr(saved_model, "save_translator", fill_the_disk)
    (tmp_path / "e").mkdir()
    (tmp_path / "e/export.json").write_text("{}")
    run, config = make_run(), ExportConfig(str(tmp_path / "e"))
    expected = f"cannot write to {tmp_path}/e: No space left on device; free some space$"
    with pytest.raises(UserError, match=expected):
        export_run(run, TrainedModels(), run.search, config)
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "e", tmp_path / "e/export.json"]


def test_max_batch_is_of_a_saved_model_and_at_least_one() -> None:
    with pytest.raises(ValueError, match="received --max_batch=0: expected at least 1"):
        ExportConfig("out", max_batch=0)
    with pytest.raises(ValueError, match="--max_batch=8 with --format=ctranslate2: expected no"):
        ExportConfig("out", "ctranslate2", max_batch=8)


def test_only_a_saved_model_holds_an_ensemble() -> None:
    models = TrainedModels(ensemble=("b",))
    ExportConfig("out").check_models(models)
    ExportConfig("out", "ctranslate2").check_models(TrainedModels())
    with pytest.raises(UserError, match="received --ensemble and --format=ctranslate2"):
        ExportConfig("out", "ctranslate2").check_models(models)
