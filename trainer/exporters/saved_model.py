"""The SavedModel: a translator's graph, weights and subwords, for TF Serving or any TensorFlow.

Its six signatures are the methods of `inference.translator.Translator` and `translate` of
`AligningTranslator`. Loading it requires only TensorFlow and TensorFlow Text.
"""

import copy
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from pipeline.common.errors import UserError
from pipeline.common.silence import silent_stderr
from pipeline.common.storage import write_atomically
from trainer.exporters import warmup
from trainer.exporters.result import DEFAULT_MAX_BATCH, read_max_batch
from trainer.exporters.saved_model_files import fetch_saved_model
from trainer.inference.aligning_translator import AligningTranslator
from trainer.inference.batching import Translate, translate_in_parts
from trainer.inference.translator import Translator

DEFAULT_SIGNATURE = "serving_default"
WITH_PREFIX = "translate_with_prefix"
WITH_ALIGNMENTS = "translate_with_alignments"
SIGNATURES = {  # with the methods of `Translator`
    DEFAULT_SIGNATURE: "translate",
    "translate_nbest": "translate_nbest",
    WITH_PREFIX: "translate_with_prefix",
    WITH_ALIGNMENTS: "translate",  # of `AligningTranslator`
    "score": "score_pairs",
    "translate_ids": "translate_ids",
}


class ServedTranslator(tf.Module):
    """A translator to be saved, whose weights may be stored in another type than float32.

    Arithmetic is float32 with any type: weights are cast once per request. The functions that read
    weights take them as arguments, so that signatures which call the same function share its graph.
    """

    def __init__(self, translator: Translator, weights: str, max_batch: int) -> None:
        """Copies the weights of all models as "float32", "bfloat16" or "float16"."""
        super().__init__(name="translator")
        self.max_batch = max_batch
        variables = [variable for model in translator.models for variable in model.variables]
        self.weights = [
            tf.Variable(tf.cast(variable.value, weights), trainable=False, name=variable.path)
            for variable in variables
        ]
        self.text_ops = [translator.source_ops, translator.target_ops]
        served = copy.copy(translator)
        for name in ("search_best", "search_n_best", "token_log_probs", "align_ids"):
            method = getattr(translator, name)
            setattr(served, name, self._with_stored_weights(method, variables))
        # What an attribute holds is saved: all functions, and the translator's own weights. A
        # lambda is not, and keeps the translator alive, which its methods refer to weakly.
        aligning = AligningTranslator(served)
        self._get_owner = lambda name: aligning if name == WITH_ALIGNMENTS else served

    def function(self, signature: str) -> tf.types.experimental.PolymorphicFunction:
        """Returns the function of a signature, which refuses more than `max_batch` sentences."""
        method = getattr(self._get_owner(signature), SIGNATURES[signature])

        @tf.function(input_signature=method.input_signature, autograph=False)
        def call(*inputs: tf.Tensor) -> dict[str, tf.Tensor]:
            with tf.control_dependencies([_check_batch(inputs[0], self.max_batch)]):
                inputs = tuple(map(tf.identity, inputs))
            return method.python_function(*inputs)

        return call

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


def _check_batch(sentences: tf.Tensor, max_batch: int) -> tf.Operation:
    """Fails if there are more than `max_batch` sentences, `[B, …]`."""
    count = tf.shape(sentences)[0]
    message = tf.strings.format(
        f"received {{}} sentences, expected at most {max_batch} in a request: send several, or "
        "export with a larger --max_batch",
        count,
    )
    return tf.debugging.Assert(count <= max_batch, [message])


def save_translator(
    translator: Translator,
    directory: Path,
    *,
    weights: str,
    max_batch: int = DEFAULT_MAX_BATCH,
    signatures: Collection[str] = tuple(SIGNATURES),
) -> None:
    """Writes a SavedModel, with the warm-up requests of TF Serving.

    Args:
        translator: a trained model.
        directory: does not exist yet.
        weights: the type in which weights are stored, "float32", "bfloat16" or "float16".
        max_batch: most sentences in a request.
        signatures: those to save; each that searches takes seconds to trace.
    """
    served = ServedTranslator(translator, weights, max_batch)
    functions = {name: served.function(name) for name in signatures}
    tf.saved_model.save(served, str(directory), signatures=functions)
    inputs = warmup.warmup_inputs(longest=translator.search.max_source_length, most=max_batch)
    requests = warmup.warmup_requests({name: inputs[name] for name in signatures})
    path = directory / warmup.PATH
    path.parent.mkdir()
    write_atomically(str(path), requests)


def load_saved_model(directory: str, signature: str = DEFAULT_SIGNATURE) -> Translate:
    """Loads a signature of an exported model; importing this module has loaded the Text ops.

    It takes any number of sentences, and gives the model at most its `max_batch` at a time.

    Args:
        directory: where it is; a URL is fetched to this machine first.
        signature: the signature's name.

    Raises:
        UserError: there is no SavedModel in `directory`, or it lacks the signature.
    """
    local = fetch_saved_model(directory)
    with silent_stderr():
        model = tf.saved_model.load(local)
    if signature not in model.signatures:
        raise UserError(
            f"the SavedModel in {directory} has no signature {signature}, only "
            f"{', '.join(model.signatures)}: export it again with python -m trainer.export"
        )
    function = model.signatures[signature]
    function.keep_alive = model  # a signature refers to its variables weakly
    max_batch = read_max_batch(local)
    return translate_in_parts(function, max_batch) if max_batch else function
