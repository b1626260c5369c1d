"""The page has every section, figure and bug, and the figures show what the paper says."""

import json
import math
from pathlib import Path

import pytest

from tests.helpers.page_parsing import Page
from trainer.pages.diagrams import arrow, heat_map
from trainer.paper.driver import SENTENCES, PaperConfig, write_paper
from trainer.paper.figures import draw_figures, rates, scaling, smoothing
from trainer.paper.sections import CHAPTERS
from trainer.paper.ten_bugs import TEN_BUGS

SECTIONS = [section for sections in CHAPTERS.values() for section in sections]


def curves(figure: str) -> list[dict[float, float]]:
    """Values of each curve of a chart."""
    lines = Page(figure).all("polyline")
    return [dict(json.loads(line.attributes["data-points"] or "")) for line in lines]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = str(tmp_path_factory.mktemp("page") / "paper.html")
    assert write_paper(PaperConfig(output_file=path)) == path
    return Page(Path(path).read_text(encoding="utf-8"))


def test_the_page_stands_alone(page: Page) -> None:
    assert page.loads() == []


def test_the_page_has_every_section_and_what_it_names(page: Page) -> None:
    assert page.texts("h3") == [f"§{section.number} {section.title}" for section in SECTIONS]
    assert len(page.all("article")) == len(SECTIONS)
    shown = set(page.texts("code"))
    assert {name for section in SECTIONS for name in (*section.code, *section.tests)} <= shown


def test_the_page_has_both_forms_of_every_edit(page: Page) -> None:
    edits = [edit for bug in TEN_BUGS for edit in bug.edits]
    assert [text.strip() for text in page.texts("ins")] == [edit.ours for edit in edits]
    assert page.texts("del") == [f"✗ {edit.broken}" for edit in edits]


def test_every_figure_belongs_to_a_section() -> None:
    named = [section.figure for section in SECTIONS if section.figure]
    assert sorted(named) == sorted(draw_figures())


def test_scaled_scores_do_not_saturate_the_softmax() -> None:
    scaled, unscaled = curves(scaling())
    assert scaled[1] == pytest.approx(unscaled[1])
    assert max(scaled.values()) < 0.3
    assert unscaled[512] > 0.8


def test_rates_peak_at_the_end_of_warm_up() -> None:
    base, slow, _ = curves(rates())
    assert max(base, key=lambda step: base[step]) == 4000
    assert max(slow, key=lambda step: slow[step]) == 8000
    assert base[4000] == pytest.approx(512**-0.5 * 4000**-0.5, rel=1e-4)


def test_smoothed_losses_are_lowest_at_the_smoothed_probability() -> None:
    plain, smoothed, more = curves(smoothing())
    assert plain[50] == pytest.approx(math.log(2), rel=1e-4)
    assert [min(c, key=lambda x: c[x]) for c in (plain, smoothed, more)] == [99, 89, 80]


def test_a_heat_map_has_a_square_for_each_value_but_zeros() -> None:
    figure = Page(heat_map("Map", "", [[1, 0, -0.5], [0, 0.5, 0]], rows=["a", "b"]))
    paths = {
        (path.attributes["class"], path.attributes["fill-opacity"]): path.attributes["d"]
        for path in figure.all("path")
    }
    assert {name: (d or "").count("M") for name, d in paths.items()} == {
        ("positive", "1"): 1,
        ("negative", "0.5"): 1,
        ("positive", "0.5"): 1,
    }
    assert paths["negative", "0.5"] == "M88 2h12v12h-12z"
    assert figure.texts("text") == ["a", "b"]


@pytest.mark.parametrize(
    ("end", "tip"),
    [((9, 1), "9,1 4,3.5 4,-1.5"), ((1, 9), "1,9 3.5,4 -1.5,4")],
)
def test_an_arrow_ends_in_its_tip(end: tuple[float, float], tip: str) -> None:
    (polygon,) = Page(f"<svg>{arrow((1, 1), end)}</svg>").all("polygon")
    assert polygon.attributes["points"] == tip


def test_figures_3_to_5_are_of_the_papers_sentences_unless_others_are_given() -> None:
    assert PaperConfig().sentences == SENTENCES
    assert PaperConfig(text="A dog.\nA cat.").sentences == ["A dog.", "A cat."]
