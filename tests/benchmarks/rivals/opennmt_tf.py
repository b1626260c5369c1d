"""OpenNMT-tf, by its own command."""

import json
from collections.abc import Mapping
from pathlib import Path

from tests.benchmarks.rivals import Environment
from tests.benchmarks.throughput import Trainer
from tests.benchmarks.workload import DROPOUT, LABEL_SMOOTHING, TOKENS_PER_BATCH, Size, Workload

_SPECIAL = ("<blank>", "<s>", "</s>")  # ids 0, 1, 2 there
_MODEL = """import opennmt


def model():
    return opennmt.models.Transformer(
        num_layers={size.num_layers},
        num_units={size.model_dim},
        num_heads={size.num_heads},
        ffn_inner_dim={size.feed_forward_dim},
        dropout={dropout},
        attention_dropout=0,
        ffn_dropout=0,
        mha_bias=False,
        share_embeddings=opennmt.models.EmbeddingsSharingLevel.ALL,
        pre_norm={pre_norm},
        output_layer_bias=False,
    )
"""


def trainer(environment: Environment, workload: Workload, size: Size, folder: Path) -> Trainer:
    """Writes model and configuration to `folder`; returns the training command."""
    train = {"save_summary_steps": size.updates_per_report, "max_step": 100_000}
    command = configure(environment, workload, size, folder, DROPOUT, {}, train)
    return Trainer([*command, "train"], report=r"tokens/s = (\d+)")


def configure(
    environment: Environment,
    workload: Workload,
    size: Size,
    folder: Path,
    dropout: float,
    params: Mapping[str, object],
    train: Mapping[str, object],
    pre_norm: bool = False,
) -> list[str]:
    """Writes model and configuration to `folder`; returns the command without its action.

    params, train: what these sections of the configuration have otherwise or besides.
    """
    vocabulary, model, config = (folder / name for name in ("vocab.txt", "model.py", "config.yml"))
    pieces = workload.vocabulary.read_text()
    vocabulary.write_text("".join(f"{symbol}\n" for symbol in _SPECIAL) + pieces)
    model.write_text(_MODEL.format(size=size, dropout=dropout, pre_norm=pre_norm))
    values = {
        "model_dir": str(folder / "run"),
        "data": {
            "train_features_file": str(workload.pieces("train", "source")),
            "train_labels_file": str(workload.pieces("train", "target")),
            "source_vocabulary": str(vocabulary),
            "target_vocabulary": str(vocabulary),
        },
        "params": {
            "optimizer": "Adam",
            "optimizer_params": {"beta_1": 0.9, "beta_2": 0.98},
            "learning_rate": 2.0,
            "decay_type": "NoamDecay",
            "decay_params": {"model_dim": size.model_dim, "warmup_steps": 4000},
            "label_smoothing": LABEL_SMOOTHING,
            **params,
        },
        "train": {
            "batch_type": "tokens",
            "batch_size": TOKENS_PER_BATCH,
            "effective_batch_size": None,
            "length_bucket_width": 1,
            "maximum_features_length": 100,
            "maximum_labels_length": 100,
            "sample_buffer_size": -1,
            **train,
        },
    }
    config.write_text(json.dumps(values))  # JSON is YAML
    return [environment.program("onmt-main"), "--model", str(model), "--config", str(config)]
