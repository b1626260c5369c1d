"""The SavedModel: a translator's graph, weights and subwords, for TF Serving or any TensorFlow.

Its five signatures are the methods of `inference.translator.Translator`. Loading it requires only
TensorFlow and TensorFlow Text.
"""

import copy
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.silence import silent_stderr
from pipeline.common.storage import write_atomically
from pipeline.dataset.schema import END_ID
from trainer.exporters import warmup
from trainer.inference.batching import Translate
from trainer.inference.translator import Translator

DEFAULT_SIGNATURE = "serving_default"
WITH_PREFIX = "translate_with_prefix"
SIGNATURES = {  # with the methods of `Translator`
    DEFAULT_SIGNATURE: "translate",
    "translate_nbest": "translate_nbest",
    WITH_PREFIX: "translate_with_prefix",
    "score": "score_pairs",
    "translate_ids": "translate_ids",
}
_WARMUP_WORDS = (1, 16, 48)  # lengths of the sentences in a warm-up request


class ServedTranslator(tf.Module):
    """A translator to be saved, whose weights may be stored in another type than float32.

    Arithmetic is float32 with any type: weights are cast once per request. The functions that read
    weights take them as arguments, so that signatures which call the same function share its graph.
    """

    def __init__(self, translator: Translator, weights: str) -> None:
        """Copies the weights of all models as "float32", "bfloat16" or "float16"."""
        super().__init__(name="translator")
        variables = [variable for model in translator.models for variable in model.variables]
        self.weights = [
            tf.Variable(tf.cast(variable.value, weights), trainable=False, name=variable.path)
            for variable in variables
        ]
        self.text_ops = [translator.source_ops, translator.target_ops]
        served = copy.copy(translator)
        for name in ("search_best", "search_n_best", "token_log_probs"):
            method = getattr(translator, name)
            setattr(served, name, self._with_stored_weights(method, variables))
        # What an attribute holds is saved: all functions, and the translator's own weights. A
        # lambda is not, and keeps the translator alive, which its methods refer to weakly.
        self._get_translator = lambda: served

    def function(self, signature: str) -> tf.types.experimental.PolymorphicFunction:
        """Returns the function of a signature."""
        return getattr(self._get_translator(), SIGNATURES[signature])

    def _with_stored_weights(
        self, method: tf.types.experimental.PolymorphicFunction, variables: list[keras.Variable]
    ) -> Callable[..., Any]:
        """Returns a method of the translator that reads `self.weights` instead of its own."""
        weights = [tf.TensorSpec(variable.shape, tf.float32) for variable in variables]

        @tf.function(input_signature=[weights, *method.input_signature], autograph=False)
        def call(weights: list[tf.Tensor], *inputs: tf.Tensor) -> Any:
            stored = zip(variables, weights, strict=True)
            with keras.StatelessScope(state_mapping=stored):
                return method.python_function(*inputs)

        def call_with_weights(*inputs: tf.Tensor) -> Any:
            return call([tf.cast(weight, tf.float32) for weight in self.weights], *inputs)

        return call_with_weights


def save_translator(
    translator: Translator,
    directory: Path,
    *,
    weights: str,
    signatures: Collection[str] = tuple(SIGNATURES),
) -> None:
    """Writes a SavedModel, with the warm-up requests of TF Serving.

    Args:
        translator: a trained model.
        directory: does not exist yet.
        weights: the type in which weights are stored, "float32", "bfloat16" or "float16".
        signatures: those to save; each that searches takes seconds to trace.
    """
    served = ServedTranslator(translator, weights)
    functions = {name: served.function(name) for name in signatures}
    tf.saved_model.save(served, str(directory), signatures=functions)
    sentences = tf.constant([" ".join(["a"] * words) for words in _WARMUP_WORDS])
    inputs = {
        DEFAULT_SIGNATURE: {"text": sentences},
        "translate_nbest": {"text": sentences},
        WITH_PREFIX: {"text": sentences, "prefix": sentences},
        "score": {"text": sentences, "translation": sentences},
        "translate_ids": {"tokens": tf.constant([[END_ID]])},
    }
    requests = warmup.warmup_requests({name: inputs[name] for name in signatures})
    path = directory / warmup.PATH
    path.parent.mkdir()
    write_atomically(str(path), requests)


def find_fingerprint(directory: str) -> Path:
    """Returns the file of a SavedModel in `directory` that differs between any two exports.

    Raises:
        UserError: there is no SavedModel.
    """
    if not (Path(directory) / "saved_model.pb").exists():
        versions = sorted(path.parent for path in Path(directory).glob("*/saved_model.pb"))
        remedy = (
            f"did you mean {versions[-1]}?"
            if versions
            else f"make one with python -m trainer.export --output_dir={directory} --run_dir=…"
        )
        if storage.is_url(directory):
            remedy = (
                "copy it from the store to a folder first; with --runner, to one that every worker "
                "sees under the same path"
            )
        raise UserError(f"no SavedModel in {directory} (it has no saved_model.pb): {remedy}")
    return Path(directory) / "fingerprint.pb"


def load_saved_model(directory: str, signature: str = DEFAULT_SIGNATURE) -> Translate:
    """Loads a signature of an exported model; importing this module has loaded the Text ops.

    Raises:
        UserError: there is no SavedModel in `directory`, or it lacks the signature.
    """
    find_fingerprint(directory)
    with silent_stderr():
        model = tf.saved_model.load(directory)
    if signature not in model.signatures:
        raise UserError(
            f"the SavedModel in {directory} has no signature {signature}, only "
            f"{', '.join(model.signatures)}: export it again with python -m trainer.export"
        )
    function = model.signatures[signature]
    function.keep_alive = model  # a signature refers to its variables weakly
    return function
