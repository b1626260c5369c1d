"""The graph of an export is determined by --target, not by the machine that exports."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from model.config import SearchConfig, TransformerConfig
from model.kernels.target import Target, current_target, trace_for
from model.transformer import Transformer
from tests.helpers.datasets import VOCABULARY_SIZE
from trainer.exporters.driver import ExportConfig, export_run
from trainer.exporters.saved_model import save_translator
from trainer.inference.translator import Translator
from trainer.runs.run_directory import Run
from trainer.runs.trained_model import TrainedModels

# Wide enough that weights are padded for a CPU.
WIDE = TransformerConfig(num_layers=1, model_dim=16, feed_forward_dim=512, num_heads=2)


def canonical_graph(directory: Path) -> str:
    """Returns the graph of a SavedModel, its functions in the order of their use.

    Names contain counts of all that the process has traced; they are numbered anew from 0.
    """
    model = saved_model_pb2.SavedModel()
    model.ParseFromString((directory / "saved_model.pb").read_bytes())
    graph = model.meta_graphs[0].graph_def
    definitions = {f'"{f.signature.name}"': str(f) for f in graph.library.function}
    texts, pending = [], ["".join(map(str, graph.node))]
    while pending:
        texts.append(pending.pop())
        names = dict.fromkeys(re.findall(r'"[^"\n]*"', texts[-1]))
        pending += [definitions.pop(name) for name in names if name in definitions]
    counts: dict[str, int] = {}
    return re.sub(
        r'(?<=[_"])\d{3,}(?=[_"])',
        lambda count: str(counts.setdefault(count[0], len(counts))),
        "".join(texts),
    )


def first_difference(left: str, right: str) -> tuple[str, str] | None:
    """Returns the first lines that differ; pytest would compare megabytes at length."""
    lines = itertools.zip_longest(left.splitlines(), right.splitlines(), fillvalue="")
    return next((pair for pair in lines if pair[0] != pair[1]), None)


@pytest.fixture
def export(
    translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Target, int], str]:
    """Exports the same model for a target on a machine with a number of GPUs; gives its graph."""

    def export_graph(target: Target, gpus: int) -> str:
        monkeypatch.setattr(tf.config, "list_logical_devices", lambda _=None: ["a device"] * gpus)
        directory = tmp_path / f"{target}-{gpus}"
        with trace_for(target):
            keras.utils.clear_session()  # which counts the names of random states
            keras.utils.set_random_seed(1)
            transformer = Transformer(WIDE, VOCABULARY_SIZE)
            transformer.optimize_for_search()
            ops = translator.source_ops
            to_export = Translator(transformer, ops, ops, SearchConfig(beam_size=1))
            save_translator(to_export, directory, weights="float32", signatures=["translate_ids"])
        return canonical_graph(directory)

    return export_graph


def test_the_graph_depends_on_the_target_alone(export: Callable[[Target, int], str]) -> None:
    for_cpu, for_gpu = export("cpu", 0), export("gpu", 0)
    assert first_difference(for_cpu, export("cpu", 1)) is None
    # Attention row by row, and the columns of padded weights.
    assert [mark in for_cpu for mark in ("BatchMatMulV3", "size: 528")] == [True, True]
    assert [mark in for_gpu for mark in ("BatchMatMulV3", "size: 528")] == [False, False]


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_loading_and_saving_both_go_by_the_flag(
    make_run: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: Target,
) -> None:
    targets = []

    def load(*_: Any, **__: Any) -> tuple[None, Any]:
        targets.append(current_target())
        return None, type("Checkpoint", (), {"step": 1, "sources": ()})

    def save(_: Any, directory: Path, **__: Any) -> None:
        targets.append(current_target())
        directory.mkdir()

    monkeypatch.setattr("trainer.inference.translator.load_translator", load)
    monkeypatch.setattr("trainer.exporters.saved_model.save_translator", save)
    run, config = make_run(), ExportConfig(str(tmp_path / "out"), target=target)
    about = export_run(run, TrainedModels(), run.search, config)
    assert targets == [target, target]
    assert about.to_json()["target"] == target
    assert current_target() == "cpu"


def test_the_target_at_hand_is_a_gpu_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert current_target() == "cpu"
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda _: ["a device"])
    assert current_target() == "gpu"


def test_ctranslate2_has_no_target() -> None:
    with pytest.raises(ValueError, match="--target=gpu with --format=ctranslate2: expected no"):
        ExportConfig("out", "ctranslate2", target="gpu")
