"""Training commands of all contenders."""

import sys
from pathlib import Path

from tests.benchmarks import rivals
from tests.benchmarks.rivals import opennmt_py, opennmt_tf, pytorch
from tests.benchmarks.throughput import Trainer
from tests.benchmarks.workload import DROPOUT, TOKENS_PER_BATCH, Size, Workload, as_flags

OURS = {"ours, float32": "none", "ours, bfloat16": "bfloat16"}
PLAIN_LOOPS = {"torch.nn.Transformer": "nn", "MarianMT": "marian"}
RIVALS = ("OpenNMT-tf", "OpenNMT-py", *PLAIN_LOOPS)


def make_trainer(name: str, workload: Workload, size: Size, folder: Path) -> Trainer:
    """Returns the training command of a contender, for an empty folder."""
    if name in OURS:
        return our_trainer(OURS[name], workload, size, folder / "run")
    environments = workload.dataset.parent
    if name == "OpenNMT-tf":
        return opennmt_tf.trainer(
            rivals.environment("opennmt_tf", environments), workload, size, folder
        )
    environment = rivals.environment("torch", environments)
    if name == "OpenNMT-py":
        return opennmt_py.trainer(environment, workload, size, folder)
    return pytorch.trainer(PLAIN_LOOPS[name], environment, workload, size)


def our_trainer(precision: str, workload: Workload, size: Size, run_dir: Path) -> Trainer:
    """Returns our command, without evaluations and checkpoints."""
    flags = {
        **size.architecture(),
        "dataset_dir": workload.dataset,
        "run_dir": run_dir,
        "mixed_precision": precision,
        "dropout": DROPOUT,
        "tokens_per_batch": TOKENS_PER_BATCH,
        "log_every_steps": size.updates_per_report,
        "eval_every_steps": 0,
        "checkpoint_every_steps": 0,
        "checkpoint_every_minutes": 0,
    }
    command = [sys.executable, "-m", "trainer.task", *as_flags(flags)]
    return Trainer(command, report=r"([\d,]+) tokens/s")
