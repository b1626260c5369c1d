"""Charts draw every value where their axes say, and mark the best."""

import json
import math

import pytest

from tests.helpers.page_parsing import Page
from trainer.pages.charts import LINEAR, Axis, Curve, line_chart, log_ticks, short, ticks

POINTS = [(100, 8.0), (200, 4.0), (400, 2.0)]


def draw(*curves: Curve, axis: Axis = LINEAR) -> Page:
    return Page(line_chart("Loss", "nats", curves, axis=axis))


def pixels(page: Page) -> list[list[list[float]]]:
    """Left and top of each point of each line."""
    lines = (line.attributes["points"] or "" for line in page.all("polyline"))
    return [
        [[float(number) for number in point.split(",")] for point in line.split()] for line in lines
    ]


def rulers(page: Page) -> dict[str, float]:
    """Height of each horizontal line by its label."""
    heights = [float(line.attributes["y1"] or 0) for line in page.all("line", "grid")]
    return dict(zip(page.texts("text"), heights, strict=False))


def best_dot(page: Page) -> list[float]:
    (dot,) = page.all("circle", "best")
    return [float(dot.attributes[name] or "nan") for name in ("cx", "cy")]


def test_points_lie_by_step_and_value() -> None:
    page = draw(Curve("training", POINTS))
    ((first, second, third),) = pixels(page)
    assert second[0] - first[0] == pytest.approx((third[0] - second[0]) / 2, abs=0.2)
    assert second[1] - first[1] == pytest.approx(2 * (third[1] - second[1]), abs=0.2)
    assert first[1] < third[1]  # higher values stand higher
    assert rulers(page)["8"] == pytest.approx(first[1], abs=0.1)
    assert rulers(page)["2"] == pytest.approx(third[1], abs=0.1)


def test_logarithmic_scale_spaces_ratios_evenly() -> None:
    page = draw(Curve("training", POINTS), axis=Axis(log_scale=True))
    ((first, second, third),) = pixels(page)
    assert second[1] - first[1] == pytest.approx(third[1] - second[1], abs=0.2)


def test_small_changes_look_small_on_an_axis_that_covers_a_range() -> None:
    page = draw(Curve("fraction", [(1, 0.952), (2, 0.953)]), axis=Axis(covers=(0, 1)))
    ((first, second),) = pixels(page)
    height = rulers(page)["0"] - rulers(page)["1"]
    assert 0 <= first[1] - second[1] < height / 100


def test_curves_share_the_axes_and_have_names_and_values_for_the_script() -> None:
    page = draw(Curve("training", POINTS), Curve("<dev>", [(200, 4.0), (300, math.nan)]))
    training, dev = pixels(page)
    assert dev == [training[1]]
    assert page.texts("span") == ["training ", "<dev> "]
    data = [json.loads(line.attributes["data-points"] or "") for line in page.all("polyline")]
    assert data == [[list(point) for point in POINTS], [[200, 4.0]]]


def test_best_value_of_the_last_curve_is_marked_where_it_was_first_reached() -> None:
    curves = [Curve("training", POINTS), Curve("dev", [(100, 9.0), (200, 3.0), (400, 3.0)])]
    lowest = Page(line_chart("Loss", "nats", curves, best=min))
    highest = Page(line_chart("BLEU", "dev", curves, best=max))
    _, dev = pixels(lowest)
    assert best_dot(lowest) == pytest.approx(dev[1], abs=0.1)
    assert best_dot(highest) == pytest.approx(dev[0], abs=0.1)
    assert "best 3 at 200" in lowest.texts("b")
    assert "best 9 at 100" in highest.texts("b")


def test_no_value_is_marked_where_none_is_best() -> None:
    page = draw(Curve("training", POINTS))
    assert page.all("circle", "best") == page.all("line", "best") == []
    assert page.texts("b") == ["Loss"]


def test_nothing_finite_makes_no_chart() -> None:
    assert line_chart("Loss", "nats", [Curve("training", [(1, math.inf)])], best=min) == ""


def test_a_single_point_and_a_constant_are_drawn() -> None:
    for points in ([(0, 0.0)], [(1, 3.0), (2, 3.0)]):
        for left, top in pixels(draw(Curve("constant", points)))[0]:
            assert math.isfinite(left) and math.isfinite(top)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (3, 94, [20, 40, 60, 80]),
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-0.5, 0.5, [-0.4, -0.2, 0, 0.2, 0.4]),
        (0, 300_000, [0, 100_000, 200_000, 300_000]),
        (5, 5, [5]),
    ],
)
def test_ticks_are_round_numbers_within(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_logarithmic_ticks_are_within() -> None:
    assert log_ticks(1.2, 60) == pytest.approx([2, 5, 10, 20, 50])
    assert log_ticks(0.5, 2e6) == pytest.approx([1, 10, 100, 1e3, 1e4, 1e5, 1e6])
    assert log_ticks(3, 4) == [3]


def test_numbers_are_short() -> None:
    numbers = [0, 15_000, 2.5e9, 3.2e12, 1_500_000, 0.0007, 1e-6, 12.5]
    shown = ["0", "15k", "2.5G", "3.2T", "1.5M", "7e-4", "1e-6", "12.5"]
    assert [short(number) for number in numbers] == shown
