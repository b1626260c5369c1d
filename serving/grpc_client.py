"""Translates standard input, one sentence per line, by TF Serving's gRPC interface.

pip install '.[serving]'
python serving/grpc_client.py localhost:8500 translator < sentences.txt
"""

import itertools
import sys

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

SENTENCES_PER_REQUEST = 64  # a batch of the server's (batching.config): more wait for one another


def translate(
    sentences: list[str], address: str, model: str, *, timeout: float = 60.0
) -> list[tuple[str, float]]:
    """Translates sentences in one request.

    Args:
        sentences: one sentence each.
        address: host and port of the server.
        model: the name that it serves the model by.
        timeout: seconds.

    Returns:
        each translation and its score.

    Raises:
        grpc.RpcError: nobody answers there in time, or the server refuses.
    """
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = "serving_default"
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(sentences, tf.string))
    with grpc.insecure_channel(address) as channel:
        service = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        outputs = service.Predict(request, timeout).outputs
    texts, scores = (tf.make_ndarray(outputs[name]) for name in ("translation", "score"))
    return [(text.decode("utf-8"), float(score)) for text, score in zip(texts, scores, strict=True)]


def main(arguments: list[str]) -> None:
    """Prints the translations, or exits with one line that says why there are none."""
    if len(arguments) != 2:
        sys.exit("usage: python serving/grpc_client.py HOST:PORT MODEL < sentences.txt")
    address, model = arguments
    lines = (line.rstrip("\n") for line in sys.stdin)
    while sentences := list(itertools.islice(lines, SENTENCES_PER_REQUEST)):
        try:
            translations = translate(sentences, address, model)
        except grpc.RpcError as error:
            sys.exit(f"error: no translation from {address}: {error.details()}")
        print(*(text for text, _ in translations), sep="\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
