"""The page to try a model on, in a real browser: its scripts run and its policy allows them."""

import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from tests.helpers.page_parsing import Page
from tests.trainer.pages.test_attention_viewer import SENTENCE
from trainer.pages.demo_answers import Answer, AnswerSentences
from trainer.pages.demo_server import DemoConfig, open_server

BROWSER = shutil.which("chromium")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=10000",
)


@pytest.mark.heavy
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium: apt-get install chromium")
def test_a_browser_draws_the_answer_and_its_attention(tmp_path: Path) -> None:
    answer = Answer("a < b", (("c & d", -0.25),), attention=SENTENCE)
    with open_server(DemoConfig(port=0)) as server:
        server.model = AnswerSentences("tiny", "en", "de", lambda _: [answer])
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/?text=a+%3C+b"
        command = [str(BROWSER), *QUIET, f"--user-data-dir={tmp_path}", "--dump-dom", address]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=120)
        server.shutdown()
        thread.join()
    assert "<rect" in shown.stdout, shown.stderr  # drawn by attention_viewer.js
    page = Page(shown.stdout)
    assert ["".join(each.text) for each in page.all("p", "answer")] == ["c & d"]
    assert len(page.all("canvas")) == 6
