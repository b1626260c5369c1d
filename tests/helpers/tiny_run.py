"""The flags of a training run that learns something in seconds, and what it leaves behind."""

import json
from pathlib import Path

import numpy as np

STEPS = 12
_FLAGS = f"""
    --num_layers=1 --model_dim=32 --feed_forward_dim=64 --num_heads=2 --dropout=0.1
    --tokens_per_batch=512 --gradient_accumulation=2 --warmup_steps=20
    --checkpoint_every_steps=4 --keep_checkpoints=2 --average_checkpoints=2
    --log_every_steps=1 --eval_every_steps=6 --beam_size=2 --extra_length=2
    --train_steps={STEPS}
"""


def training_flags(dataset: Path, run_dir: Path, *more: str) -> list[str]:
    """Returns the flags of `trainer.task` for a tiny run; later ones override."""
    return [f"--dataset_dir={dataset}", f"--run_dir={run_dir}", *_FLAGS.split(), *more]


def weights(run_dir: Path) -> dict[str, np.ndarray]:
    """The weights, optimizer and random state of the last checkpoint."""
    last = max((run_dir / "checkpoints").iterdir())
    arrays = {}
    for name in ("weights", "state"):
        with np.load(last / f"{name}.npz") as file:
            arrays.update({f"{name}/{key}": file[key] for key in file.files})
    return arrays


def figures(run_dir: Path) -> list[dict[str, float]]:
    """The updates in metrics.jsonl, without the values that depend on time."""
    rows = [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
    timed = {"time", "train/tokens_per_second", "train/flops_per_second", "train/peak_share"}
    updates = [row for row in rows if "train/loss" in row]
    return [{name: row[name] for name in row if name not in timed} for row in updates]
