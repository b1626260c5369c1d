"""What an export checks before it starts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.common.errors import UserError
from trainer.config import TrainedModels
from trainer.exporters.driver import ExportTarget, export_run
from trainer.runs.run_directory import Run


def test_a_directory_that_is_not_an_export_is_kept(
    make_run: Callable[..., Run], tmp_path: Path
) -> None:
    (tmp_path / "precious").touch()
    run, target = make_run(), ExportTarget(str(tmp_path))
    with pytest.raises(UserError, match="exists and is not an exported model"):
        export_run(run, TrainedModels(), run.search, target)
    assert (tmp_path / "precious").exists()


def test_only_a_saved_model_holds_an_ensemble() -> None:
    models = TrainedModels(ensemble=("b",))
    ExportTarget("out").check_models(models)
    ExportTarget("out", "ctranslate2").check_models(TrainedModels())
    with pytest.raises(UserError, match="received --ensemble and --format=ctranslate2"):
        ExportTarget("out", "ctranslate2").check_models(models)
