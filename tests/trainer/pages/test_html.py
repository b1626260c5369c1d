"""Pages contain everything they use, and show any text as text."""

import json

import pytest

from tests.helpers.page_parsing import Page
from trainer.pages.html import fold, json_for_script, page, table

HOSTILE = '</script><b>"A & B"</b>'


def test_page_has_its_title_introduction_and_sections_in_order() -> None:
    sections = {"One": "<p>1</p>", "Two": "<p>2</p>"}
    parsed = Page(page(HOSTILE, sections, introduction="<p>first</p>"))
    assert parsed.texts("title") == parsed.texts("h1") == [HOSTILE]
    assert parsed.texts("h2") == ["One", "Two"]
    assert parsed.texts("p") == ["first", "1", "2"]


def test_page_holds_its_style_and_scripts_and_loads_nothing() -> None:
    parsed = Page(page("Title", {}, scripts=["charts.js", "attention_viewer.js"]))
    assert parsed.loads() == []
    assert "prefers-color-scheme: dark" in parsed.texts("style")[0]
    (script,) = parsed.texts("script")
    assert ".chart" in script and "class Viewer" in script
    policies = [meta.attributes.get("content") or "" for meta in parsed.all("meta")]
    assert any("default-src 'none'" in policy for policy in policies)


def test_table_aligns_numbers_right_and_shows_missing_values_as_dashes() -> None:
    parsed = Page(table(["a", "b"], [[HOSTILE, 12345], [None, 0.123456], ["3", True]]))
    assert parsed.texts("th") == ["a", "b"]
    assert parsed.texts("td") == [HOSTILE, "12,345", "–", "0.1235", "3", "True"]
    assert ["".join(cell.text) for cell in parsed.all("td", "number")] == ["12,345", "0.1235"]


def test_cells_name_their_columns_for_narrow_screens() -> None:
    parsed = Page(table(["a & b", ""], [[1, 2]], classes="stacked"))
    assert [cell.attributes.get("data-label") for cell in parsed.all("td")] == ["a & b", None]
    assert len(parsed.all("table", "stacked")) == 1


def test_folded_content_is_closed() -> None:
    parsed = Page(fold("a & b", "<p>1</p>"))
    assert parsed.texts("summary") == ["a & b"]
    assert parsed.all("details")[0].attributes == {}


@pytest.mark.parametrize("value", [HOSTILE, "<!-- <script>", ["ä", {"b": 1.5}]])
def test_json_comes_back_from_a_script(value: object) -> None:
    element = json_for_script(value)
    assert element.count("<") == 2
    assert json.loads(Page(element).texts("script")[0]) == value
