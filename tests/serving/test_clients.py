"""The clients' wire format, against stand-ins for TF Serving: its own messages, not its server."""

import json
import re
import runpy
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from tests.architecture.source import ROOT

SENTENCES = ["The old dog sleeps.", "", "Über \U0001f600"]


def load_translate(name: str) -> Callable[..., Any]:
    return runpy.run_path(str(ROOT / "serving" / f"{name}.py"))["translate"]


class StandIn(BaseHTTPRequestHandler):
    """Answers as TF Serving's REST interface does, in upper case, at most 64 sentences."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/models/translator:predict"
        assert request.keys() == {"signature_name", "inputs"}
        texts = request["inputs"]["text"]
        if len(texts) > 64:
            return self.send_error(400, "Task size is larger than maximum input batch size 64")
        outputs = {"translation": [text.upper() for text in texts], "score": [0.0] * len(texts)}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"outputs": outputs}).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture
def rest_server() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), StandIn)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_rest_client_sends_and_reads_columns(rest_server: str) -> None:
    translate = load_translate("rest_client")
    received = translate(SENTENCES, f"{rest_server}/v1/models/translator")
    assert received == [sentence.upper() for sentence in SENTENCES]


def run_client(name: str, *arguments: str, stdin: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "serving" / f"{name}.py"), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("count", [0, 64, 200])
def test_the_rest_client_sends_no_more_than_the_server_takes(rest_server: str, count: int) -> None:
    url = f"{rest_server}/v1/models/translator"
    ended = run_client("rest_client", url, stdin="".join(f"x{n}\n" for n in range(count)))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "".join(f"X{n}\n" for n in range(count))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage: python serving/rest_client.py MODEL_URL"),
        (["http://127.0.0.1:9/v1"], "error: no translation from http://127.0.0.1:9/v1: .*refused"),
        (["localhost"], "error: no translation from localhost: .*unknown url type"),
    ],
)
def test_the_rest_client_ends_with_a_line(arguments: list[str], message: str) -> None:
    ended = run_client("rest_client", *arguments, stdin="Why?\n")
    assert ended.returncode == 1 and ended.stdout == ""
    assert re.match(message, ended.stderr) and ended.stderr.count("\n") == 1


def test_the_rest_client_does_not_wait_for_ever() -> None:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/models/translator"
        with pytest.raises(OSError, match="timed out"):
            load_translate("rest_client")(SENTENCES, url, timeout=0.2)


@pytest.fixture
def grpc_server() -> Iterator[str]:
    reason = "needs tensorflow-serving-api: pip install '.[serving]'"
    pytest.importorskip("tensorflow_serving.apis", reason=reason)
    import grpc
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
        def Predict(self, request: Any, context: Any) -> Any:
            assert request.model_spec.name == "translator"
            assert request.model_spec.signature_name == "serving_default"
            texts = tf.make_ndarray(request.inputs["text"]).tolist()
            if len(texts) > 64:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "more than 64")
            response = predict_pb2.PredictResponse()
            upper = [text.decode().upper() for text in texts]
            scores = [-float(len(text)) for text in texts]
            response.outputs["translation"].CopyFrom(tf.make_tensor_proto(upper, tf.string))
            response.outputs["score"].CopyFrom(tf.make_tensor_proto(scores, tf.float32))
            return response

    server = grpc.server(futures.ThreadPoolExecutor(1))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


def test_the_grpc_client_speaks_tf_serving_s_messages(grpc_server: str) -> None:
    received = load_translate("grpc_client")(SENTENCES, grpc_server, "translator")
    assert received == [(each.upper(), -float(len(each.encode()))) for each in SENTENCES]


def test_the_grpc_client_sends_no_more_than_the_server_takes(grpc_server: str) -> None:
    ended = run_client("grpc_client", grpc_server, "translator", stdin="x\n" * 200)
    assert (ended.returncode, ended.stdout) == (0, "X\n" * 200), ended.stderr
