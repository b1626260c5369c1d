"""Many clients of one SavedModel at once, in TensorFlow's C API, which is how TF Serving runs it.

    python -m tests.benchmarks.serving_load --saved_model=exported/translator/1 \
        --output=tests/benchmarks/results/serving_load.json

Every client sends requests of one to eight texts, one after another: sentences of the built-in
corpus, one to twelve of them in a row, and texts that are no text. Some ask for scores, and some
send too many sentences. Every answer is compared with that of the text alone.
"""

import argparse
import math
import os
import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.corpora.builtin.corpus import generate_pairs
from tests.benchmarks.measure import resident_memory
from tests.benchmarks.record import output_flag, write_record

HOSTILE = [
    b"",
    b" \t\r\n ",
    b"\x00\x01\x07 bell \x1b[31m",
    b"caf\xe9 \xff\xfe \xc3",
    b"x" * 10_000,
    b"word " * 2_000,
    "\U0001f600 \u200b\ufeff\u2028\u202e".encode(),
    b"<unk> </s> <pad>",
]
SENTENCES = 300
SAMPLES = 10  # of memory


class Request(NamedTuple):
    """A signature and the texts it gets, as numbers of a list."""

    signature: str
    texts: list[int]


def main() -> None:
    """Sends requests, prints figures and writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--saved_model", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--requests", type=int, default=10_000)
    output_flag(parser, "serving_load")
    arguments = parser.parse_args()
    os.environ["TF_NUM_INTRAOP_THREADS"] = "1"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    server = Server(arguments.saved_model)
    load = Load(server, make_texts(), arguments.requests)
    results = load.run(arguments.clients)
    write_record("serving_load", arguments, results)
    print(results)


def make_texts() -> list[bytes]:
    """Returns hostile texts, then one to three sentences in a row, and sometimes twelve."""
    pairs = [source for source, _ in generate_pairs("test")][:SENTENCES]
    lengths = [12 if row % 20 == 0 else 1 + row % 3 for row in range(SENTENCES)]
    rows = [" ".join(pairs[row : row + length]) for row, length in enumerate(lengths)]
    return [*HOSTILE, *(row.encode() for row in rows)]


class Server:
    """A SavedModel in a session of the C API."""

    def __init__(self, directory: Path) -> None:
        """Loads the model."""
        import tensorflow as tf

        from tests.helpers.c_api import SavedModel
        from tests.helpers.signatures import read_signature

        names = ("serving_default", "score")
        self.signatures = {name: read_signature(directory, name) for name in names}
        self.session = SavedModel(str(directory), Path(tf.__file__).parents[1])

    def call(self, name: str, output: str, **inputs: list[bytes]) -> list[Any]:
        """Returns one output of a signature."""
        signature = self.signatures[name]
        tensor, kind = signature.outputs[output]
        texts = {
            signature.inputs[key]: [text.decode("latin-1") for text in value]
            for key, value in inputs.items()
        }
        return self.session.run(texts, {tensor: kind})[tensor]


class Outcome(NamedTuple):
    """How a request of some texts ended: "right", "wrong" or "refused"."""

    texts: int
    verdict: str
    milliseconds: float


class Load:
    """Requests, their right answers, and the measured figures."""

    def __init__(self, server: Server, texts: list[bytes], requests: int) -> None:
        """Translates and scores every text alone, for comparison."""
        self.server, self.texts = server, texts
        self.translations = [self._translate([text])[0] for text in texts]
        self.scores = [self._score([text])[0] for text in texts]
        self.requests = make_requests(len(texts), requests)
        self.total = requests
        self.outcomes: list[Outcome] = []
        self.memory = [resident_memory()]
        self._lock = threading.Lock()

    def run(self, clients: int) -> dict[str, Any]:
        """Answers all requests; returns counts, times and memory."""
        start = time.monotonic()
        threads = [threading.Thread(target=self._send) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - start
        answered = [outcome for outcome in self.outcomes if outcome.verdict != "refused"]
        cuts = statistics.quantiles([outcome.milliseconds for outcome in answered], n=100)
        return {
            "texts_per_second": sum(outcome.texts for outcome in answered) / seconds,
            "milliseconds": {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98]},
            "verdicts": dict(Counter(outcome.verdict for outcome in self.outcomes)),
            "memory_mib": self.memory,
        }

    def _send(self) -> None:
        """Sends one request after another until there are none left."""
        while True:
            with self._lock:
                request = next(self.requests, None)
            if request is None:
                return
            start = time.monotonic()
            verdict = self._judge(request)
            taken = 1e3 * (time.monotonic() - start)
            with self._lock:
                self.outcomes.append(Outcome(len(request.texts), verdict, taken))
                if len(self.outcomes) % (self.total // SAMPLES) == 0:
                    self.memory.append(resident_memory())

    def _judge(self, request: Request) -> str:
        texts = [self.texts[number] for number in request.texts]
        try:
            if request.signature == "score":
                expected = [self.scores[number] for number in request.texts]
                pairs = zip(self._score(texts), expected, strict=True)
                right = all(math.isclose(*pair, rel_tol=1e-3, abs_tol=1e-3) for pair in pairs)
            else:
                right = self._translate(texts) == [self.translations[n] for n in request.texts]
        except RuntimeError as error:
            return "refused" if "expected at most" in str(error) else "wrong"
        return "right" if right else "wrong"

    def _translate(self, texts: list[bytes]) -> list[str]:
        return self.server.call("serving_default", "translation", text=texts)

    def _score(self, texts: list[bytes]) -> list[float]:
        return self.server.call("score", "log_probability", text=texts, translation=texts)


def make_requests(texts: int, count: int) -> Iterator[Request]:
    """Yields requests, the same ones every time."""
    numbers = random.Random(1)
    for _ in range(count):
        kind = numbers.random()
        size = 65 if kind < 0.01 else numbers.choice((1, 1, 1, 1, 1, 1, 2, 8))
        first = 0 if numbers.random() < 0.9 else len(HOSTILE)
        chosen = [numbers.randrange(first, texts) for _ in range(size)]
        if kind > 0.9:  # a text and itself, which does not depend on the others
            yield Request("score", chosen[:1])
        elif numbers.random() < 0.1:
            yield Request("serving_default", [numbers.randrange(len(HOSTILE)), *chosen][:64])
        else:
            yield Request("serving_default", chosen)


if __name__ == "__main__":
    main()
