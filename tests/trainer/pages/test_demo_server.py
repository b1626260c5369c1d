"""The server of the page to try a model on: limits, names, mistakes; with a model of one line."""

import http.client
import re
import socket
import threading
from collections.abc import Iterator, Sequence
from urllib.parse import quote_plus

import pytest

from pipeline.common.errors import UserError
from tests.helpers.page_parsing import Page
from trainer.pages.demo_answers import Answer, AnswerSentences
from trainer.pages.demo_server import DemoConfig, DemoServer, open_server, serve_demo

LONGEST = 40


def upper(sentences: Sequence[str]) -> list[Answer]:
    return [Answer(each, ((each.upper(), -0.5),)) for each in sentences]


MODEL = AnswerSentences("tiny", "en", "de", upper)


@pytest.fixture
def server() -> Iterator[DemoServer]:
    server = open_server(DemoConfig(port=0, max_characters=LONGEST))
    server.model = MODEL
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def ask(
    server: DemoServer, method: str, path: str = "/", body: str | None = None, **headers: str
) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    content = response.read().decode()
    connection.close()
    return response.status, content, dict(response.getheaders())


def answers_of(content: str) -> list[str]:
    return re.findall(r'<p class="answer"[^>]*>(.*?)</p>', content)


def test_the_form_translates_each_line(server: DemoServer) -> None:
    status, content, _ = ask(server, "GET")
    assert (status, answers_of(content)) == (200, [])
    text = "Grüße & <b>\r\n\r\ntwo"
    status, content, headers = ask(server, "POST", body=f"text={quote_plus(text)}")
    assert (status, answers_of(content)) == (200, ["GRÜSSE &amp; &lt;B&gt;", "<br>", "TWO"])
    assert headers["Cache-Control"] == "no-store"
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["X-Frame-Options"] == "DENY"


def test_a_link_may_carry_the_text(server: DemoServer) -> None:
    assert answers_of(ask(server, "GET", "/?text=why%3F")[1]) == ["WHY?"]


@pytest.mark.parametrize("body", ["", "text=", "text=+%0A", "other=1"])
def test_blank_text_gives_the_form_again(server: DemoServer, body: str) -> None:
    status, content, _ = ask(server, "POST", body=body)
    assert (status, answers_of(content)) == (200, [])


def test_bytes_that_are_no_text_are_no_error(server: DemoServer) -> None:
    status, content, _ = ask(server, "POST", body="text=%ff%fe%00x")
    assert (status, answers_of(content)) == (200, ["\ufffd\ufffd\x00X"])


def test_a_text_that_is_too_long_is_refused_in_words_and_kept(server: DemoServer) -> None:
    longest = "\u2603" * LONGEST  # the most bytes
    assert answers_of(ask(server, "POST", body=f"text={quote_plus(longest)}")[1]) == [longest]
    status, content, _ = ask(server, "POST", body=f"text={'x' * (LONGEST + 1)}")
    assert (status, answers_of(content)) == (413, [])
    assert "more than 40 characters" in content and "x" * (LONGEST + 1) in content
    status, content, _ = ask(server, "GET", f"/?text={'x' * (LONGEST + 1)}")
    assert status == 413


def test_a_body_that_is_too_long_is_not_read(server: DemoServer) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
        head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999\r\n\r\n"
        client.sendall(head.encode())  # and nothing more
        assert client.recv(12) == b"HTTP/1.0 413"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/../etc/passwd", {}, 404),
        ("GET", "/favicon.ico", {}, 404),
        ("DELETE", "/", {}, 501),
        ("POST", "/", {"Content-Length": "-1"}, 411),
        ("POST", "/", {"Content-Length": "x"}, 411),
        ("GET", "/?a&b=1&c=1&d=1&e=1&f=1", {}, 400),
        ("GET", "/", {"Host": "evil.example"}, 403),
        ("GET", "/", {"Host": "evil.example:80@127.0.0.1"}, 200),
        ("GET", "/", {"Host": "localhost:1"}, 200),
        ("GET", "/", {"Host": "[::1]:1"}, 200),
    ],
)
def test_what_is_not_for_the_page_is_refused(
    server: DemoServer, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert ask(server, method, path, **headers)[0] == status


def test_a_server_for_the_network_answers_to_any_name() -> None:
    with open_server(DemoConfig(host="0.0.0.0", port=0)) as server:
        assert server.serves_name("any.example")
    assert DemoConfig().host == "127.0.0.1"


def test_a_port_in_use_and_another_machine_s_address_are_one_line(server: DemoServer) -> None:
    config = DemoConfig(port=server.server_port)
    with pytest.raises(UserError, match=f"--port={config.port}: Address.* in use; expected"):
        serve_demo(lambda: MODEL, config)
    with pytest.raises(UserError, match="cannot listen at --host=192.0.2.1"):
        open_server(DemoConfig(host="192.0.2.1"))
    with pytest.raises(ValueError, match="received --port=-1"):
        DemoConfig(port=-1)


def test_the_page_is_whole(server: DemoServer) -> None:
    content = ask(server, "POST", body="text=a")[1]
    assert Page(content).texts("h1") == ["Try tiny"]
