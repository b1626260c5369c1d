"""Warm-up requests: TF Serving runs them when it loads a model, before it serves.

The first request to a model is slow, because TensorFlow initialises lazily, and so is the first
of a new size, because kernels and the allocator prepare for sizes as they come. TF Serving reads
requests from `assets.extra/tf_serving_warmup_requests` of a SavedModel, a TFRecord of
`tensorflow.serving.PredictionLog`. The few fields of a request are packed here, so that exporting
requires no TF Serving package.
"""

from collections.abc import Mapping

import tensorflow as tf

from pipeline.dataset.schema import END_ID
from pipeline.dataset.tfrecord import frame_record, pack_field

PATH = "assets.extra/tf_serving_warmup_requests"

# Numbers of fields, from prediction_log.proto, predict.proto and model.proto of TF Serving.
_PREDICT_LOG = 6  # of PredictionLog
_REQUEST = 1  # of PredictLog
_MODEL_SPEC, _INPUTS = 1, 2  # of PredictRequest
_SIGNATURE_NAME = 3  # of ModelSpec
_KEY, _VALUE = 1, 2  # of a map's entry

_WORDS = (1, 16, 64)  # lengths of sentences, before that of the longest

Inputs = Mapping[str, tf.Tensor]


def warmup_inputs(*, longest: int, most: int) -> dict[str, Inputs]:
    """Returns the inputs of a request to each signature: sentences of all lengths.

    A translation may end soon, but not before its prefix does: with prefixes, search runs to the
    longest source's length.

    Args:
        longest: most tokens of a source; a word has at least one.
        most: most sentences in a request.
    """
    lengths = [*(words for words in _WORDS if words < longest), longest][-most:]
    sentences = tf.constant([" ".join(["a"] * words) for words in lengths])
    return {
        "serving_default": {"text": sentences},
        "translate_nbest": {"text": sentences},
        "translate_with_prefix": {"text": sentences, "prefix": sentences},
        "translate_with_alignments": {"text": sentences},
        "score": {"text": sentences, "translation": sentences},
        "translate_ids": {"tokens": tf.constant([[END_ID]])},
    }


def warmup_requests(inputs_by_signature: Mapping[str, Inputs]) -> bytes:
    """Returns the content of the file: one request per signature.

    Args:
        inputs_by_signature: the inputs by name, of each signature.
    """
    return b"".join(
        frame_record(_prediction_log(signature, inputs))
        for signature, inputs in inputs_by_signature.items()
    )


def _prediction_log(signature: str, inputs: Inputs) -> bytes:
    request = pack_field(_MODEL_SPEC, pack_field(_SIGNATURE_NAME, signature.encode()))
    for name, tensor in inputs.items():
        value = tf.make_tensor_proto(tensor).SerializeToString()
        request += pack_field(_INPUTS, pack_field(_KEY, name.encode()) + pack_field(_VALUE, value))
    return pack_field(_PREDICT_LOG, pack_field(_REQUEST, request))
