"""OpenNMT-py, by its own commands."""

import json
from pathlib import Path

from tests.benchmarks.rivals import Environment
from tests.benchmarks.throughput import Trainer
from tests.benchmarks.workload import DROPOUT, LABEL_SMOOTHING, TOKENS_PER_BATCH, Size, Workload

# Imported by transforms that are not asked for.
_NOT_NEEDED = ("ahocorasick", "fasttext", "pkuseg", "spacy")


def trainer(environment: Environment, workload: Workload, size: Size, folder: Path) -> Trainer:
    """Writes the configuration to `folder`; returns how to train there."""
    config = folder / "config.yml"
    values = {
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
        "report_every": size.updates_per_report,
        "train_steps": 100_000,
        "save_checkpoint_steps": 100_000,
    }
    config.write_text(json.dumps(values))  # JSON is YAML
    return Trainer(
        [environment.program("onmt_train"), "-config", str(config)],
        report=r"(\d+)/\s*(\d+) tok/s",
        environment={"PYTHONPATH": _stubs(folder)},
    )


def _stubs(folder: Path) -> str:
    """Returns a folder of empty modules, for imports that nothing is used of."""
    stubs = folder / "stubs"
    stubs.mkdir(exist_ok=True)
    for name in _NOT_NEEDED:
        (stubs / f"{name}.py").touch()
    return str(stubs)
