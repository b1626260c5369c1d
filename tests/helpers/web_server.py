"""A web server on this machine with the faults of real ones."""

import contextlib
import dataclasses
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclasses.dataclass
class Faults:
    """How to serve one path: what goes wrong before it goes right."""

    data: bytes
    cut_after: list[int] = dataclasses.field(default_factory=list)  # bytes of the next answers
    errors: list[int] = dataclasses.field(default_factory=list)  # codes of the next answers
    ranges: bool = True  # whether parts of the file can be asked for
    etag: str = '"1"'
    shift: int = 0  # bytes by which a part of the file starts too late


class Web(ThreadingHTTPServer):
    """Serves `files`, and remembers (path, Range header) of every request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, Faults] = {}
        self.requests: list[tuple[str, str | None]] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def serve(self, path: str, data: bytes, **faults: Any) -> str:
        self.files[path] = Faults(data, **faults)
        return self.url(path)


class _Handler(BaseHTTPRequestHandler):
    server: Web

    def do_GET(self) -> None:
        asked = self.headers["Range"]
        self.server.requests.append((self.path, asked))
        file = self.server.files.get(self.path)
        if file is None or file.errors:
            self.send_error(file.errors.pop(0) if file else 404)
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if not file.ranges or self.headers.get("If-Range", file.etag) != file.etag:
            start = 0
        if start and start >= len(file.data):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            start += file.shift
            last = len(file.data) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{len(file.data)}")
        self.send_header("ETag", file.etag)
        self.send_header("Content-Length", str(len(file.data) - start))
        self.end_headers()
        end = start + file.cut_after.pop(0) if file.cut_after else None
        self.wfile.write(file.data[start:end])
        self.close_connection = True

    def log_message(self, *arguments: Any) -> None:
        """Says nothing."""


@contextlib.contextmanager
def serving() -> Iterator[Web]:
    with Web() as web:
        thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield web
        finally:
            web.shutdown()
            thread.join()
