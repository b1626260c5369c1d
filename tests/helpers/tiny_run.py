"""The flags of a training run that learns something in seconds."""

from pathlib import Path

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
