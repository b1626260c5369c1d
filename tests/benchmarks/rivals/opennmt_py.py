"""OpenNMT-py, by its own commands."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.benchmarks.rivals import Environment
from tests.benchmarks.throughput import Trainer
from tests.benchmarks.workload import (
    DROPOUT,
    LABEL_SMOOTHING,
    SENTENCES_PER_BATCH,
    TOKENS_PER_BATCH,
    Size,
    Workload,
)

# Imported by transforms that are not asked for.
_NOT_NEEDED = ("ahocorasick", "fasttext", "pkuseg", "spacy")


def trainer(environment: Environment, workload: Workload, size: Size, folder: Path) -> Trainer:
    """Writes the configuration to `folder`; returns the training command."""
    values = _training(workload, size, folder) | {
        "report_every": size.updates_per_report,
        "train_steps": 100_000,
        "save_checkpoint_steps": 100_000,
    }
    command = _command(environment.program("onmt_train"), values, folder)
    return Trainer(command, report=r"(\d+)/\s*(\d+) tok/s", environment=_environment(folder))


def make_model(environment: Environment, workload: Workload, size: Size, folder: Path) -> Path:
    """Returns a model of one update."""
    values = _training(workload, size, folder) | {"train_steps": 1, "save_checkpoint_steps": 1}
    _run(_command(environment.program("onmt_train"), values, folder), folder)
    return folder / "model_step_1.pt"


def translation_seconds(
    environment: Environment, model: Path, workload: Workload, *, beam_size: int, length: int
) -> float:
    """Returns the seconds of the test set, by its own report; translations have `length` tokens."""
    folder = model.parent
    values = {
        "model": [str(model)],
        "src": str(workload.pieces("test", "source")),
        "output": str(folder / "translations.txt"),
        "beam_size": beam_size,
        "batch_size": SENTENCES_PER_BATCH,
        "min_length": length,
        "max_length": length,
        "max_length_ratio": 0,
        "report_time": True,
    }
    output = _run(_command(environment.program("onmt_translate"), values, folder), folder)
    match = re.search(r"Total translation time \(s\): ([\d.]+)", output)
    if not match:
        raise SystemExit(f"onmt_translate told no time:\n{output}")
    return float(match[1])


def _training(workload: Workload, size: Size, folder: Path) -> dict[str, object]:
    return {
        "data": {
            "multi30k": {
                "path_src": str(workload.pieces("train", "source")),
                "path_tgt": str(workload.pieces("train", "target")),
            }
        },
        "src_vocab": str(workload.vocabulary),
        "tgt_vocab": str(workload.vocabulary),
        "share_vocab": True,
        "save_model": str(folder / "model"),
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "layers": size.num_layers,
        "hidden_size": size.model_dim,
        "word_vec_size": size.model_dim,
        "transformer_ff": size.feed_forward_dim,
        "heads": size.num_heads,
        "add_ffnbias": True,
        "position_encoding": True,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "dropout": DROPOUT,
        "attention_dropout": 0.0,
        "label_smoothing": LABEL_SMOOTHING,
        "optim": "adam",
        "adam_beta2": 0.98,
        "learning_rate": 2.0,
        "decay_method": "noam",
        "warmup_steps": 4000,
        "param_init": 0.0,
        "param_init_glorot": True,
        "batch_type": "tokens",
        "batch_size": TOKENS_PER_BATCH,
        "normalization": "tokens",
    }


def _command(program: str, values: Mapping[str, object], folder: Path) -> list[str]:
    config = folder / "config.yml"
    config.write_text(json.dumps(values))  # JSON is YAML
    return [program, "-config", str(config)]


def _run(command: list[str], folder: Path) -> str:
    """Returns what a command prints.

    Raises:
      SystemExit: it failed; its output is shown.
    """
    environment = {**os.environ, **_environment(folder)}
    result = subprocess.run(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if result.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{result.stdout}")
    return result.stdout


def _environment(folder: Path) -> dict[str, str]:
    """Returns the environment that lets it run on a newer PyTorch than it supports."""
    stubs = folder / "stubs"
    stubs.mkdir(exist_ok=True)
    for name in _NOT_NEEDED:
        (stubs / f"{name}.py").touch()
    return {"PYTHONPATH": str(stubs), "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
