"""The page to try a model on shows answers as text, and loads nothing."""

from collections.abc import Sequence

import pytest

from tests.helpers.page_parsing import Page
from tests.trainer.pages.test_attention_viewer import SENTENCE
from trainer.pages.demo_answers import Answer, AnswerSentences
from trainer.pages.demo_page import demo_page

MODEL = AnswerSentences("demo <1>", "en", "de", lambda sentences: [])
ANSWERS = [
    Answer("a < b", (("c & d", -0.25), ("e", -1.5)), attention=SENTENCE),
    Answer("", (("", 0.0),)),
    Answer("x" * 99, (("y", -0.5),), tokens_cut=7),
]


def parse(text: str = "", answers: Sequence[Answer] = (), problem: str = "") -> Page:
    content = demo_page(MODEL, max_characters=500, text=text, answers=answers, problem=problem)
    return Page(content)


def test_without_answers_there_is_a_labelled_form_alone() -> None:
    page = parse()
    (area,) = page.all("textarea")
    (label,) = page.all("label")
    assert label.attributes["for"] == area.attributes["id"] == area.attributes["name"] == "text"
    assert (area.attributes["maxlength"], area.attributes["lang"]) == ("500", "en")
    assert page.texts("h1") == ["Try demo <1>"]
    assert page.texts("h2") == []
    (form,) = page.all("form")
    assert (form.attributes["method"], form.attributes["action"]) == ("post", "/")


def test_answers_are_text_in_the_order_of_the_lines() -> None:
    page = parse("a < b\n\n" + "x" * 99, ANSWERS)
    assert page.texts("textarea") == ["a < b\n\n" + "x" * 99]
    answers = page.all("p", "answer")
    assert ["".join(answer.text) for answer in answers] == ["c & d", "", "y"]
    assert {answer.attributes["lang"] for answer in answers} == {"de"}
    assert page.texts("h2") == ["Translation", "Alternatives", "Attention of the first sentence"]
    assert "7 subwords at the end" in "".join(page.texts("p"))


def test_alternatives_are_ranked_with_their_scores() -> None:
    (table,) = parse("a", ANSWERS).all("table")
    assert "of “a < b”" in "".join(table.text)
    cells = parse("a", ANSWERS).texts("td")
    assert cells == ["1", "c & d", "-0.250", "2", "e", "-1.500"]


def test_a_problem_is_announced() -> None:
    page = parse("a", problem="too <long>")
    assert ["".join(each.text) for each in page.all("p", "problem")] == ["too <long>"]
    assert page.all("p", "problem")[0].attributes["role"] == "alert"


@pytest.mark.parametrize("answers", [(), ANSWERS])
def test_the_page_loads_nothing_and_sends_to_its_own_server_alone(
    answers: Sequence[Answer],
) -> None:
    assert parse("a", answers).loads() == ["form action=/"]
