import re
import resource
import types
from pathlib import Path

import pytest

from model.config import SearchConfig, TransformerConfig
from pipeline.dataset.schema import PADDING_ID, Dataset
from trainer.config import TrainingConfig
from trainer.data.buckets import make_buckets
from trainer.data.input_pipeline import training_batches
from trainer.training import dry_run


def test_the_second_update_of_the_widest_bucket_tells_speed_and_time(
    tiny_transformer: TransformerConfig,
    tiny_dataset: Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([0.0, 100.0, 200.0, 204.0])  # two updates, of 100 and of 4 seconds
    monkeypatch.setattr(dry_run, "time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    usage = types.SimpleNamespace(ru_maxrss=3 * 2**20)  # KiB
    monkeypatch.setattr(resource, "getrusage", lambda _: usage)
    training = TrainingConfig(
        dataset_dir=str(tiny_dataset.directory),
        run_dir=str(tmp_path / "run"),
        tokens_per_batch=210,
        train_steps=500,
    )
    text = dry_run.estimate_training(tiny_transformer, training, SearchConfig(), tiny_dataset)
    buckets = make_buckets(tiny_dataset, "train", tokens_per_batch=210, parts=1)
    _, second = training_batches(buckets[-1:], seed=training.seed).take(2)
    tokens = sum(int((ids.numpy() != PADDING_ID).sum()) for ids in second.values())
    epochs = 500 / sum(bucket.rows / bucket.batch_size for bucket in buckets)
    lines = text.splitlines()
    assert re.fullmatch(
        r"by formula  0\.\d\d GiB a device: weights 0\.\d\d, .*, with --jit_compile", lines.pop(3)
    )
    assert lines[1:] == [
        "batch       4 rows of 48 × 52 tokens on 1 replica(s) in 1 part(s); the widest of "
        f"{len(buckets)} buckets",
        "memory      3.00 GiB at most",
        f"speed       {tokens / 4:,.0f} tokens/s, 4.00 s an update",
        f"training    500 updates, {epochs:.1f} epochs: about 33m20s, without evaluation",
    ]
