"""Translates standard input, one sentence per line, by TF Serving's REST interface.

    python serving/rest_client.py http://localhost:8501/v1/models/translator < sentences.txt

Requires only Python.
"""

import itertools
import json
import sys
import urllib.request

SENTENCES_PER_REQUEST = 64  # a batch of the server's (batching.config): more wait for one another


def translate(sentences: list[str], model_url: str, *, timeout: float = 60.0) -> list[str]:
    """Translates sentences in one request, in the columnar form of TF Serving's REST interface.

    Args:
        sentences: one sentence each.
        model_url: of the model, such as http://localhost:8501/v1/models/translator.
        timeout: seconds without a byte from the server.

    Raises:
        OSError: nobody answers there in time, or the server refuses.
    """
    body = json.dumps({"signature_name": "serving_default", "inputs": {"text": sentences}})
    request = urllib.request.Request(
        f"{model_url}:predict", body.encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return json.load(response)["outputs"]["translation"]


def main(arguments: list[str]) -> None:
    """Prints the translations, or exits with one line that says why there are none."""
    if len(arguments) != 1:
        sys.exit("usage: python serving/rest_client.py MODEL_URL < sentences.txt")
    lines = (line.rstrip("\n") for line in sys.stdin)
    while sentences := list(itertools.islice(lines, SENTENCES_PER_REQUEST)):
        try:
            translations = translate(sentences, arguments[0])
        except (OSError, ValueError) as error:  # urllib's are OSErrors
            sys.exit(f"error: no translation from {arguments[0]}: {error}")
        print(*translations, sep="\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
