"""Pages hold all they need, and show any text as text."""

import json

import pytest

from tests.helpers.page_parsing import Page
from trainer.pages.html import json_for_script, page, table

HOSTILE = '</script><b>"A & B"</b>'


def test_page_has_its_title_and_sections_in_order() -> None:
    parsed = Page(page(HOSTILE, {"One": "<p>1</p>", "Two": "<p>2</p>"}))
    assert parsed.texts("title") == parsed.texts("h1") == [HOSTILE]
    assert parsed.texts("h2") == ["One", "Two"]
    assert parsed.texts("p") == ["1", "2"]


def test_page_holds_its_style_and_scripts_and_loads_nothing() -> None:
    parsed = Page(page("Title", {}, scripts=["charts.js", "attention_viewer.js"]))
    assert parsed.loads() == []
    assert "prefers-color-scheme: dark" in parsed.texts("style")[0]
    (script,) = parsed.texts("script")
    assert ".chart" in script and "class Viewer" in script
    policies = [each.attributes.get("content") or "" for each in parsed.all("meta")]
    assert any("default-src 'none'" in policy for policy in policies)


def test_table_sets_numbers_to_the_right_and_leaves_gaps_empty() -> None:
    parsed = Page(table(["a", "b"], [[HOSTILE, 12345], [None, 0.123456], ["3", True]]))
    assert parsed.texts("th") == ["a", "b"]
    assert parsed.texts("td") == [HOSTILE, "12,345", "", "0.1235", "3", "True"]
    assert ["".join(each.text) for each in parsed.all("td", "number")] == ["12,345", "0.1235"]


@pytest.mark.parametrize("value", [HOSTILE, "<!-- <script>", ["ä", {"b": 1.5}]])
def test_json_comes_back_from_a_script(value: object) -> None:
    element = json_for_script(value)
    assert element.count("<") == 2
    assert json.loads(Page(element).texts("script")[0]) == value
