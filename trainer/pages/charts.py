"""Line charts as SVG, readable without a script; charts.js shows the values under the pointer."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from trainer.pages.html import escape

Points = Sequence[tuple[float, float]]
Scale = Callable[[float], float]  # from a value to pixels

_WIDTH, _HEIGHT = 360, 210  # about the pixels of a panel, so that text keeps its size
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 10, 24
_TICKS = 5
_MOST_DOTS = 30  # points of a curve that are marked individually


class Curve(NamedTuple):
    """One line: its name in the legend, and `(step, value)` points by step."""

    name: str
    points: Points


class Axis(NamedTuple):
    """An axis.

    log_scale: logarithmic; values must be positive.
    covers: values that the axis always includes, so that small changes look small.
    name: of its values, shown where a script reads the chart; of the horizontal axis alone.
    """

    log_scale: bool = False
    covers: tuple[float, ...] = ()
    name: str = ""


LINEAR = Axis()
STEPS = Axis(covers=(0,), name="step")


def line_chart(
    title: str,
    unit: str,
    curves: Sequence[Curve],
    *,
    axis: Axis = LINEAR,
    across: Axis = STEPS,
    best: Callable[[Iterable[float]], float] | None = None,
) -> str:
    """Returns a figure of values over steps, or another quantity; empty if no value is finite.

    Args:
        title: name of the quantity.
        unit: unit of the values.
        curves: one to four; non-finite values are skipped.
        axis: the vertical axis.
        across: the horizontal axis.
        best: min or max, to mark the best value of the last curve; None for no mark.
    """
    curves = [Curve(name, [p for p in points if math.isfinite(p[1])]) for name, points in curves]
    steps = [step for curve in curves for step, _ in curve.points]
    values = [value for curve in curves for _, value in curve.points]
    if not steps:
        return ""
    values += axis.covers
    steps += across.covers
    x_ticks = _find_ticks(across, steps)
    y_ticks = _find_ticks(axis, values)
    x = _scale((min(steps), max(steps)), (_LEFT, _WIDTH - _RIGHT), log=across.log_scale)
    bottom, top = min(*values, *y_ticks), max(*values, *y_ticks)
    y = _scale((bottom, top), (_HEIGHT - _BOTTOM, _TOP), log=axis.log_scale)
    body = [
        *(_grid_line(y(tick), tick) for tick in y_ticks),
        *(_step_label(x(tick), tick) for tick in x_ticks),
        *(_line(number, curve, x, y) for number, curve in enumerate(curves)),
        f'<line class="cursor" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>',
    ]
    legend = [_legend_entry(number, curve.name) for number, curve in enumerate(curves)]
    if best and curves[-1].points:
        last, points = len(curves) - 1, curves[-1].points
        value = best(value for _, value in points)
        step = next(step for step, candidate in points if candidate == value)
        body.append(_best_mark(last, x(step), y(value)))
        legend.append(f'<b class="curve-{last}">best {_round(value)} at {step:,}</b>')
    return _figure(title, unit, "".join(body), "".join(legend), across=across.name)


def ticks(low: float, high: float) -> list[float]:
    """Returns round numbers from `low` to `high`: 20, 40, 60, 80 for 3 and 94.

    Steps are 1, 2 or 5 times a power of ten, about five of them.
    """
    if high <= low:
        return [low]
    raw = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Returns powers of ten from `low` to `high`, with their multiples by 2 and 5 if few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) <= _TICKS - 1 else (1,)
    candidates = [factor * 10.0**power for power in powers for factor in factors]
    return [tick for tick in candidates if low <= tick <= high] or [low]


def short(value: float) -> str:
    """Formats a number for an axis: 15000 is "15k", 2500000000.0 "2.5G", 0.0007 "7e-4"."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    if value and abs(value) < 1e-3:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return f"{value:.4g}"


def _round(value: float) -> str:
    """Formats four significant digits: 14225.5 is "14.23k"."""
    return short(float(f"{value:.4g}"))


def _scale(domain: tuple[float, float], pixels: tuple[float, float], *, log: bool = False) -> Scale:
    measure = math.log if log else float
    low, high = map(measure, domain)
    span = (high - low) or 1.0
    return lambda value: pixels[0] + (measure(value) - low) / span * (pixels[1] - pixels[0])


def _find_ticks(axis: Axis, values: Sequence[float]) -> list[float]:
    find = log_ticks if axis.log_scale else ticks
    return find(min(values), max(values))


def _figure(title: str, unit: str, drawing: str, legend: str, *, across: str) -> str:
    return (
        f'<figure class="chart" data-across="{escape(across)}"><figcaption>'
        f"<b>{escape(title)}</b>, {escape(unit)} "
        f'<output></output></figcaption>\n<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">\n{drawing}\n</svg>\n'
        f'<div class="legend">{legend}</div></figure>'
    )


def _legend_entry(number: int, name: str) -> str:
    return f'<span class="curve-{number}">{escape(name)} <output></output></span>'


def _grid_line(y: float, tick: float) -> str:
    return (
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{short(tick)}</text>'
    )


def _step_label(x: float, tick: float) -> str:
    return f'<text x="{x:.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{short(tick)}</text>'


def _line(number: int, curve: Curve, x: Scale, y: Scale) -> str:
    """Returns the line, with its values for the script."""
    pixels = [(round(x(step), 1), round(y(value), 1)) for step, value in curve.points]
    dots = "".join(
        f'<circle class="curve-{number}" cx="{left}" cy="{top}" r="2.5"/>'
        for left, top in (pixels if len(pixels) <= _MOST_DOTS else ())
    )
    values = [[step, float(f"{value:.5g}")] for step, value in curve.points]
    data = json.dumps(values, separators=(",", ":"))
    return (
        f'<polyline class="curve-{number}" data-points="{data}" '
        f'points="{" ".join(f"{left},{top}" for left, top in pixels)}"/>{dots}\n'
    )


def _best_mark(number: int, left: float, top: float) -> str:
    """Returns a dot at the best value, and a dotted line at its height."""
    return (
        f'<line class="best curve-{number}" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" '
        f'y1="{top:.1f}" y2="{top:.1f}"/>'
        f'<circle class="best curve-{number}" cx="{left:.1f}" cy="{top:.1f}" r="4.5"/>'
    )
