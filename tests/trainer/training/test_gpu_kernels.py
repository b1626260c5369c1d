"""Every operation of training and of search has a kernel for GPUs in this TensorFlow."""

from collections.abc import Callable, Iterator, Set
from typing import Any

import keras
import pytest
import tensorflow as tf

from tests.helpers import kernel_audit
from tests.helpers.kernel_audit import Operation
from trainer.inference.translator import Translator
from trainer.training.loss import cross_entropy
from trainer.training.train_step import TrainingModel

pytestmark = pytest.mark.skipif(
    not kernel_audit.has_gpu_kernels(), reason="this TensorFlow was built without CUDA"
)

IDS = tf.TensorSpec([None, None], tf.int32)
BATCH = {"source": IDS, "target": IDS}

# Without a kernel for GPUs, in text to text: strings exist in the memory of the host alone.
OF_TEXT = {
    "Const(string)": "replacements, and sentences that are blank",
    "NormalizeUTF8()": "normalizes sentences",
    "RaggedGather(int32, int64, int64)": "tokens of each sentence, from the tokenizer",
    "RaggedTensorToTensor(int32, int64, int64)": "the same, padded",
    "SentencepieceDetokenizeOp(int32, int64)": "joins subwords",
    "SentencepieceTokenizeOp(int32, int64)": "splits sentences into subwords",
    "Size(string, int32)": "counts sentences",
    "StaticRegexReplace()": "normalizes spaces",
    "UnicodeTranscode()": "replaces bytes that are not UTF-8",
}
# TensorFlow's kernels for int32 compute in the memory of the host, and what they compute is copied.
# Shapes and [batch, length] are small; of more axes are only:
OF_TRAINING = {
    "Equal(int32)": "masks: the sentence of each query and key",
    "StridedSlice(int32, int32)": "the numbers of sentences that masks compare",
    "Reshape(int32, int32)": "ids of the parts of a batch",
}
OF_SEARCH = {
    "AddV2(int32)": "ids of extended hypotheses, and where they are in memory",
    "BroadcastTo(int32, int32)": "the same history for all hypotheses",
    "ConcatV2(int32, int32)": "histories with room for more tokens",
    "Equal(int32)": "hypotheses that have ended",
    "ExpandDims(int32, int32)": "sentences with an axis of hypotheses",
    "Identity(int32)": "histories, through the loop",
    "Less(int32)": "ancestors of each hypothesis",
    "Mul(int32)": "where hypotheses are in memory",
    "Reshape(int32, int32)": "histories gathered as rows",
    "StridedSlice(int32, int32)": "the tokens of a position",
    "TensorScatterUpdate(int32, int32)": "the new tokens in the histories",
}


@pytest.fixture(params=["float32", "mixed_bfloat16", "mixed_float16"])
def precision(request: pytest.FixtureRequest) -> Iterator[str]:
    """Makes models of this precision."""
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy("float32")


def operations_of_step(training_model: TrainingModel) -> set[Operation]:
    step = tf.function(training_model.train_step, autograph=False, input_signature=[BATCH])
    return kernel_audit.list_operations(step.get_concrete_function())


def names(operations: set[Operation], device: str, *, rank: int = 0) -> Set[str]:
    """Returns the names of the operations on a device whose outputs have at least a rank."""
    return {found.name for found in operations if found.device == device and found.rank >= rank}


@pytest.mark.parametrize("accumulation", [1, 2])
def test_a_training_step_runs_on_a_gpu(
    make_training_model: Callable[..., TrainingModel], precision: str, accumulation: int
) -> None:
    training_model = make_training_model(gradient_accumulation=accumulation, ema_decay=0.9)
    operations = operations_of_step(training_model)
    assert len(names(operations, "GPU")) > 30
    assert names(operations, "CPU") == set()
    assert names(operations, "host", rank=3) <= OF_TRAINING.keys()
    assert {name for name in names(operations, "host", rank=1) if "int32" not in name} == set()


def test_translation_runs_on_a_gpu_between_tokenizer_and_detokenizer(
    translator: Translator,
) -> None:
    text_to_text = kernel_audit.list_operations(translator.translate.get_concrete_function())
    assert names(text_to_text, "CPU") == OF_TEXT.keys()
    search = kernel_audit.list_operations(translator.search_best.get_concrete_function())
    assert names(search, "CPU") == set()
    assert names(search, "host", rank=3) <= OF_SEARCH.keys()


def test_an_operation_that_only_a_cpu_has_is_found_in_a_step(
    make_training_model: Callable[..., TrainingModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the loop over the parts of a batch, too."""

    def loss_by_way_of_text(*arguments: Any, **options: Any) -> tuple[tf.Tensor, tf.Tensor]:
        loss, nll = cross_entropy(*arguments, **options)
        return loss, tf.strings.to_number(tf.strings.as_string(nll))

    monkeypatch.setattr("trainer.training.gradients.cross_entropy", loss_by_way_of_text)
    operations = operations_of_step(make_training_model(gradient_accumulation=2))
    assert names(operations, "CPU") == {"AsString(float32)", "StringToNumber(float32)"}


@pytest.mark.parametrize(
    ("function", "name", "device"),
    [
        (lambda x: tf.cast(x, tf.float32) + 1.0, "AddV2(float32)", "GPU"),
        (lambda x: x + 1, "AddV2(int32)", "host"),
        (lambda x: tf.math.segment_sum(x, [0, 0]), "SegmentSum(int32, int32)", "CPU"),
        (
            lambda x: tf.math.segment_sum(tf.cast(x, tf.float32), [0, 0]),
            "SegmentSum(float32, int32)",
            "GPU",
        ),
        (lambda x: tf.numpy_function(lambda a: a, [x], tf.int32), "PyFunc()", "CPU"),
        (
            lambda x: tf.cond(x[0, 0] > 0, lambda: tf.strings.length("a"), lambda: 1),
            "StringLength()",
            "CPU",
        ),
    ],
)
def test_devices_are_those_of_the_registry(
    function: Callable[..., Any], name: str, device: str
) -> None:
    traced = tf.function(function, autograph=False).get_concrete_function(IDS)
    found = kernel_audit.list_operations(traced)
    assert {operation.device for operation in found if operation.name == name} == {device}
