"""A picture is a file of its own: well formed, with caption, legend and colours."""

from xml.etree import ElementTree

from trainer.pages.charts import Curve, line_chart
from trainer.pages.diagrams import heat_map
from trainer.pages.pictures import pictures

CHART = line_chart("Loss", "nats", [Curve("a <b>", [(1, 2.0), (2, 1.0)]), Curve("dev", [(1, 3.0)])])
MAP = heat_map("Mask", "a row is a query", [[1, 0], [1, 1]])
SVG = "{http://www.w3.org/2000/svg}"


def test_every_figure_becomes_a_file_with_its_caption() -> None:
    chart, mask = (ElementTree.fromstring(p.svg()) for p in pictures(f"<p>{CHART}</p>{MAP}"))
    assert [root.get("class") for root in (chart, mask)] == ["chart", "diagram"]
    assert chart.findtext(f"{SVG}text") == "Loss, nats"
    assert mask.findtext(f"{SVG}text") == "Mask, a row is a query"
    assert ".chart text {" in (chart.findtext(f"{SVG}style") or "")
    assert ".chart {" not in (chart.findtext(f"{SVG}style") or "")
    assert "--curve-0" in (chart.findtext(f"{SVG}style") or "")
    assert "prefers-color-scheme: dark" in (mask.findtext(f"{SVG}style") or "")


def test_a_chart_has_its_curves_and_their_names() -> None:
    (picture,) = pictures(CHART)
    group = ElementTree.fromstring(picture.svg()).find(f"{SVG}g")
    assert group is not None
    assert [line.get("class") for line in group.iter(f"{SVG}polyline")] == ["curve-0", "curve-1"]
    texts = [text.text for text in group.iter(f"{SVG}text")]
    assert texts[-2:] == ["a <b>", "dev"]
    assert "data-points" not in picture.svg()
    assert picture._repr_svg_() == picture.svg() and repr(picture) == "<Picture of Loss>"
