"""A SavedModel of the tiny model, with all signatures, for all tests of exports."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from trainer.inference.translator import Translator


@pytest.fixture(scope="session")
def saved_model(translator: "Translator", tmp_path_factory: pytest.TempPathFactory) -> Path:
    from trainer.exporters.saved_model import save_translator

    directory = tmp_path_factory.mktemp("export") / "model"
    save_translator(translator, directory, weights="float32", max_batch=16)
    return directory
