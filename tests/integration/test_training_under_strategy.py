"""A whole run under MirroredStrategy: evaluation, checkpoints, resuming and averaging."""

import json
from pathlib import Path

import pytest
import tensorflow as tf

from model.config import SearchConfig, TransformerConfig
from pipeline.builtin import generate_pairs
from pipeline.schema import load_dataset
from tests.integration.commands import succeed
from trainer import training
from trainer.config import TrainingConfig


@pytest.fixture(scope="module")
def dataset_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset directory."""
    folder = tmp_path_factory.mktemp("text")
    for side, name in enumerate(("en", "de")):
        lines = [pair[side] + "\n" for pair in generate_pairs("train")[:400]]
        (folder / name).write_text("".join(lines), "utf-8")
    succeed(
        "-m", "pipeline.preprocess", f"--output_dir={folder / 'data'}", "--holdout_pairs=5",
        f"--source_files={folder / 'en'}", f"--target_files={folder / 'de'}",
        "--vocabulary_size=400",
    )  # fmt: skip
    return folder / "data"


def test_a_mirrored_run_stops_resumes_and_finishes(
    dataset_dir: Path,
    tmp_path: Path,
    eight_cpus: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    strategy = tf.distribute.MirroredStrategy(
        eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    monkeypatch.setattr(training, "make_strategy", lambda: strategy)

    def train(steps: int) -> bool:
        config = TrainingConfig(
            dataset_dir=str(dataset_dir),
            run_dir=str(tmp_path / "run"),
            train_steps=steps,
            tokens_per_batch=256,
            checkpoint_every_steps=2,
            eval_every_steps=2,
            log_every_steps=1,
        )
        small = TransformerConfig(num_layers=1, model_dim=16, feed_forward_dim=16, num_heads=2)
        search = SearchConfig(beam_size=2, extra_length=1)
        return training.train(small, config, search, load_dataset(dataset_dir))

    assert train(steps=2)
    assert train(steps=4)
    rows = [json.loads(row) for row in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "train/loss" in row] == [1, 2, 3, 4]
    assert [row["step"] for row in rows if "dev/bleu" in row] == [2, 4]
    result = json.loads((tmp_path / "run/train.json").read_text())
    assert result["averaged_steps"] == [2, 4]
