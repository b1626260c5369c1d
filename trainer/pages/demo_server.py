"""The server of the page to try a model on, with Python's own HTTP server.

It is for one person on this machine. It answers requests for its own name alone, so that no other
site can use it through the browser (DNS rebinding), and limits what a request may hold.
"""

import dataclasses
import functools
import ipaddress
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pipeline.common.errors import UserError
from pipeline.common.settings import require_range, setting
from trainer.pages.demo_answers import AnswerSentences

_BYTES_PER_CHARACTER = 12  # of UTF-8 in a form: four bytes, each as %XX
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclasses.dataclass(frozen=True)
class DemoConfig:
    """Which model, and where the page is.

    Raises:
        ValueError: if a value is out of range.
    """

    saved_model: str | None = setting(
        None, "Directory that trainer.export wrote; instead of --run_dir. It gives no attention."
    )
    host: str = setting(
        "127.0.0.1",
        "Address to listen at: this machine alone by default. Others, such as 0.0.0.0, let anybody "
        "in the network use the model; the server knows no passwords.",
    )
    port: int = setting(8080, "Port to listen at; 0 for any that is free.")
    max_characters: int = setting(2_000, "Longest text of a request, in characters.")

    def __post_init__(self) -> None:
        require_range(self, "port", at_least=0, at_most=65_535)
        require_range(self, "max_characters", at_least=1)


def serve_demo(load: Callable[[], AnswerSentences], config: DemoConfig) -> None:
    """Loads the model, prints the page's address, and serves until an interrupt.

    Raises:
        UserError: the address cannot be used.
    """
    with open_server(config) as server:
        server.model = load()
        server.model.answer([""])  # traced before the first request comes
        host, port = server.server_address[:2]
        print(f"open http://{host!s}:{port}/ in a browser; Ctrl-C ends this", flush=True)
        server.serve_forever()


class DemoServer(ThreadingHTTPServer):
    """A server whose model answers one request at a time."""

    daemon_threads = True
    model: AnswerSentences

    def __init__(self, config: DemoConfig) -> None:
        """Listens, and accepts no request yet."""
        self.config = config
        self._lock = threading.Lock()
        super().__init__((config.host, config.port), _Handler)

    def answer(self, sentences: Sequence[str]) -> Any:
        """Translates sentences."""
        with self._lock:
            return self.model.answer(sentences)

    def serves_name(self, host: str) -> bool:
        """Tells whether a request's Host header is a name of this server."""
        if not _is_loopback(self.config.host):
            return True
        name = urlsplit(f"//{host}").hostname or ""
        return name in ("localhost", self.config.host) or _is_loopback(name)


def open_server(config: DemoConfig) -> DemoServer:
    """Returns a server that listens.

    Raises:
        UserError: the address cannot be used.
    """
    try:
        return DemoServer(config)
    except OSError as error:
        raise UserError(
            f"cannot listen at --host={config.host} --port={config.port}: {error.strerror}; "
            "expected an address of this machine and a free port, such as --port=0"
        ) from error


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and POST of the page."""

    server: DemoServer
    server_version = "Beamformer"
    timeout = 30  # seconds that a browser may be silent

    def do_GET(self) -> None:
        """Shows the form, or the translation of ?text=…."""
        if self._is_for_the_page():
            self._show(urlsplit(self.path).query)

    def do_POST(self) -> None:
        """Translates the text of the form."""
        if not self._is_for_the_page():
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            return self.send_error(HTTPStatus.LENGTH_REQUIRED)
        if int(length) > _BYTES_PER_CHARACTER * self.server.config.max_characters + len("text="):
            return self._write(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, problem=self._limit())
        self._show(self.rfile.read(int(length)).decode("latin-1"))

    def _is_for_the_page(self) -> bool:
        """Refuses what is not the page, and other names of this machine."""
        if not self.server.serves_name(self.headers.get("Host", "")):
            self.send_error(HTTPStatus.FORBIDDEN, "this server has another name")
            return False
        if urlsplit(self.path).path != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
            return False
        return True

    def _show(self, form: str) -> None:
        """Writes the page for the encoded fields of the form."""
        try:
            fields = parse_qs(form, max_num_fields=4, errors="replace")
        except ValueError:
            return self.send_error(HTTPStatus.BAD_REQUEST)
        text = fields.get("text", [""])[0].replace("\r\n", "\n")
        if len(text) > self.server.config.max_characters:
            return self._write(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text, problem=self._limit())
        if not text.strip():
            return self._write(HTTPStatus.OK)
        self._write(HTTPStatus.OK, text, answers=self.server.answer(text.strip("\n").split("\n")))

    def _limit(self) -> str:
        return (
            f"The text has more than {self.server.config.max_characters:,} characters: translate "
            "it in parts, or start with a larger --max_characters."
        )

    def _write(self, status: HTTPStatus, text: str = "", **shown: Any) -> None:
        from trainer.pages.demo_page import demo_page

        longest = self.server.config.max_characters
        body = demo_page(self.server.model, max_characters=longest, text=text, **shown).encode()
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Writes nothing: texts are nobody's business."""


@functools.cache
def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
