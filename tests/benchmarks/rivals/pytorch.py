"""Plain loops in PyTorch, by `plain_torch.py`."""

import dataclasses
import json
from pathlib import Path

from tests.benchmarks.rivals import Environment
from tests.benchmarks.throughput import Trainer
from tests.benchmarks.workload import DROPOUT, LABEL_SMOOTHING, TOKENS_PER_BATCH, Size, Workload


def trainer(kind: str, environment: Environment, workload: Workload, size: Size) -> Trainer:
    """Returns the training command of PyTorch's own Transformer ("nn") or MarianMT ("marian")."""
    script = Path(__file__).with_name("plain_torch.py")
    settings = {
        **dataclasses.asdict(size),
        "kind": kind,
        "source": str(workload.pieces("train", "source")),
        "target": str(workload.pieces("train", "target")),
        "vocabulary": str(workload.vocabulary),
        "tokens_per_batch": TOKENS_PER_BATCH,
        "dropout": DROPOUT,
        "label_smoothing": LABEL_SMOOTHING,
    }
    return Trainer(
        [environment.program("python"), str(script), json.dumps(settings)],
        report=r"(\d+) tokens/s",
    )
