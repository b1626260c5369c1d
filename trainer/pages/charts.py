"""Line charts as SVG: readable as they are, and by pointing with charts.js."""

import json
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from trainer.pages.html import escape

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT = 460, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 10, 10, 24
_TICKS = 5
_WITH_DOTS = 30  # points at most that are marked one by one


class Curve(NamedTuple):
    """One line: its name in the legend, and `(step, value)` points by step."""

    name: str
    points: Points


def line_chart(title: str, unit: str, curves: Sequence[Curve], *, log_scale: bool = False) -> str:
    """Returns a figure of values over steps.

    Args:
        title: what is shown.
        unit: of the values.
        curves: one to three, with points; values that are not finite are left out.
        log_scale: whether the vertical axis is logarithmic; values must be above 0.
    """
    curves = [Curve(c.name, [p for p in c.points if math.isfinite(p[1])]) for c in curves]
    steps = [step for curve in curves for step, _ in curve.points]
    values = [value for curve in curves for _, value in curve.points]
    if not steps:
        return ""
    y_ticks = log_ticks(min(values), max(values)) if log_scale else ticks(min(values), max(values))
    x = _scale((min(0, *steps), max(steps)), (_LEFT, _WIDTH - _RIGHT))
    bottom, top = min(*values, *y_ticks), max(*values, *y_ticks)
    y = _scale((bottom, top), (_HEIGHT - _BOTTOM, _TOP), log=log_scale)
    body = [_horizontal(y(tick), tick) for tick in y_ticks]
    body += [_vertical_label(x(tick), tick) for tick in ticks(min(0, *steps), max(steps))]
    body += [_curve(number, curve, x, y) for number, curve in enumerate(curves)]
    body.append(f'<line class="cursor" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>')
    names = "".join(
        f'<span class="curve-{number}">{escape(curve.name)} <output></output></span>'
        for number, curve in enumerate(curves)
    )
    return (
        f'<figure class="chart"><figcaption><b>{escape(title)}</b>, {escape(unit)} '
        f'<output></output></figcaption>\n<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">\n{"".join(body)}\n</svg>\n'
        f'<div class="legend">{names}</div></figure>'
    )


def ticks(low: float, high: float) -> list[float]:
    """Returns round numbers from `low` to `high`: 0, 20, … 100 for 3 and 94 would start at 20.

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
    """Returns powers of ten within `low` to `high`, and their 2 and 5 fold when these are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) <= _TICKS - 1 else (1,)
    candidates = [factor * 10.0**power for power in powers for factor in factors]
    return [tick for tick in candidates if low <= tick <= high] or [low]


def short(value: float) -> str:
    """Formats a number for an axis: 15000 is "15k", 2500000000.0 "2.5G", 0.0007 "7e-04"."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    if value and abs(value) < 1e-2:
        return f"{value:.3g}" if abs(value) >= 1e-4 else f"{value:.0e}"
    return f"{value:.4g}"


def _scale(
    domain: tuple[float, float], pixels: tuple[float, float], *, log: bool = False
) -> Callable[[float], float]:
    measure = math.log if log else float
    low, high = map(measure, domain)
    span = (high - low) or 1.0
    return lambda value: pixels[0] + (measure(value) - low) / span * (pixels[1] - pixels[0])


def _horizontal(y: float, tick: float) -> str:
    return (
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{short(tick)}</text>'
    )


def _vertical_label(x: float, tick: float) -> str:
    return f'<text x="{x:.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{short(tick)}</text>'


def _curve(
    number: int, curve: Curve, x: Callable[[float], float], y: Callable[[float], float]
) -> str:
    """Returns the line with its values and pixels for the script."""
    pixels = [(round(x(step), 1), round(y(value), 1)) for step, value in curve.points]
    dots = "".join(
        f'<circle class="curve-{number}" cx="{left}" cy="{top}" r="2.5"/>'
        for left, top in (pixels if len(pixels) <= _WITH_DOTS else ())
    )
    data = [[step, float(f"{value:.5g}")] for step, value in curve.points]
    return (
        f'<polyline class="curve-{number}" data-points="{json.dumps(data, separators=(",", ":"))}" '
        f'points="{" ".join(f"{left},{top}" for left, top in pixels)}"/>{dots}\n'
    )
