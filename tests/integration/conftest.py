"""One small data set and one finished run, for all tests of commands."""

from pathlib import Path

import pytest

from pipeline.corpora.builtin import generate_pairs
from tests.helpers.commands import succeed
from tests.helpers.shared import make_once
from tests.helpers.tiny_run import training_flags


@pytest.fixture(scope="session")
def text_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset directory of 1,200 pairs in two text files, with a small vocabulary."""

    def make(folder: Path) -> None:
        pairs = generate_pairs("train")[:1200]
        for side, name in enumerate(("en", "de")):
            (folder / name).write_text("".join(pair[side] + "\n" for pair in pairs), "utf-8")
        succeed(
            "pipeline.preprocess", f"--output_dir={folder / 'data'}",
            f"--source_files={folder / 'en'}", f"--target_files={folder / 'de'}",
            "--vocabulary_size=500", "--holdout_pairs=12",
        )  # fmt: skip

    return make_once(tmp_path_factory, "text_dataset", make) / "data"


@pytest.fixture(scope="session")
def trained(text_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished, evaluated and exported run."""

    def make(folder: Path) -> None:
        run_dir = folder / "tiny"
        succeed("trainer.task", *training_flags(text_dataset, run_dir))
        succeed("trainer.evaluate", f"--run_dir={run_dir}", "--split=test")
        succeed("trainer.export", f"--run_dir={run_dir}", f"--output_dir={run_dir / 'saved_model'}")

    return make_once(tmp_path_factory, "trained", make) / "tiny"
