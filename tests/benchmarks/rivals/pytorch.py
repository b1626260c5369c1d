"""Plain loops in PyTorch, by `plain_torch.py`."""

import dataclasses
from pathlib import Path

from tests.benchmarks.rivals import Environment
from tests.benchmarks.throughput import Trainer
from tests.benchmarks.workload import Size, Workload


def trainer(kind: str, environment: Environment, workload: Workload, size: Size) -> Trainer:
    """Returns how to train PyTorch's own Transformer ("nn") or MarianMT ("marian")."""
    script = Path(__file__).with_name("plain_torch.py")
    texts = [workload.pieces("train", side) for side in ("source", "target")]
    arguments = [kind, *texts, workload.vocabulary, *dataclasses.astuple(size)]
    return Trainer(
        [environment.program("python"), str(script), *map(str, arguments)],
        report=r"(\d+) tokens/s",
    )
