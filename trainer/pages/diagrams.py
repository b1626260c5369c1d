"""Diagrams as SVG: boxes with arrows between them, and heat maps of matrices."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from trainer.pages.html import escape

Kind = Literal["attention", "feed_forward", "norm", "other"]

# A kind of box has the colours of a curve.
_CLASSES: dict[Kind, str] = {
    "feed_forward": "curve-0",
    "attention": "curve-1",
    "norm": "curve-2",
    "other": "curve-3",
}
_LEVELS = 10  # shades of a heat map
_TIP = 5  # pixels, of an arrow


class Box(NamedTuple):
    """A rectangle with text in its middle; pixels.

    x: of the middle.
    top: upper edge.
    """

    x: float
    top: float
    width: float
    height: float
    text: str
    kind: Kind = "other"

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.top + self.height

    def draw(self) -> str:
        """Returns the rectangle and its text."""
        left, middle = self.x - self.width / 2, self.top + self.height / 2 + 4
        return (
            f'<rect class="box {_CLASSES[self.kind]}" x="{left:g}" y="{self.top:g}" '
            f'width="{self.width:g}" height="{self.height:g}" rx="4"/>'
            f"{text(self.x, middle, self.text)}"
        )


def diagram(title: str, note: str, width: float, height: float, drawing: Iterable[str]) -> str:
    """Returns a figure with a caption.

    Args:
        title: text.
        note: text after the title.
        width: of the drawing, pixels.
        height: of the drawing, pixels.
        drawing: elements of SVG.
    """
    return (
        f'<figure class="diagram"><figcaption><b>{escape(title)}</b>{escape(note and ", " + note)}'
        f'</figcaption>\n<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(title)}">\n'
        f"{''.join(drawing)}\n</svg></figure>"
    )


def text(x: float, y: float, words: str, *, anchor: str = "middle", quiet: bool = False) -> str:
    """Returns a line of text."""
    quiet_class = ' class="quiet"' if quiet else ""
    return f'<text{quiet_class} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def arrow(*points: tuple[float, float]) -> str:
    """Returns a line through points, horizontal and vertical, with a tip at the last one."""
    (before_x, before_y), (x, y) = points[-2:]
    vertical = x == before_x
    length = _TIP if (before_x, before_y) > (x, y) else -_TIP
    back = (0, length) if vertical else (length, 0)
    half = (_TIP / 2, 0) if vertical else (0, _TIP / 2)
    corners = [
        (x, y),
        (x + back[0] + half[0], y + back[1] + half[1]),
        (x + back[0] - half[0], y + back[1] - half[1]),
    ]
    return (
        f'<polyline class="link" points="{_join(points)}"/>'
        f'<polygon class="tip" points="{_join(corners)}"/>'
    )


def heat_map(
    title: str,
    note: str,
    values: Sequence[Sequence[float]],
    *,
    side: float = 12,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> str:
    """Returns a figure of a matrix: the larger a value, the stronger its colour.

    Args:
        title: text.
        note: text after the title.
        values: a row of numbers for each row, -1 to 1; negative ones have another colour.
        side: of a cell, pixels.
        rows: a label of each row, or none.
        columns: a label of each column, or none.
    """
    left, top = (64 if rows else 2), (16 if columns else 2)
    width, height = left + side * len(values[0]) + 2, top + side * len(values) + 2
    labels = [
        text(left - 5, top + side * (row + 0.5) + 4, name, anchor="end", quiet=True)
        for row, name in enumerate(rows)
    ] + [
        text(left + side * (column + 0.5), top - 4, name, quiet=True)
        for column, name in enumerate(columns)
    ]
    frame = (
        f'<rect class="frame" x="{left}" y="{top}" width="{width - left - 2:g}" '
        f'height="{height - top - 2:g}"/>'
    )
    return diagram(title, note, width, height, [*labels, *_cells(values, left, top, side), frame])


def _cells(
    values: Sequence[Sequence[float]], left: float, top: float, side: float
) -> Iterable[str]:
    """Yields one path for all cells of a sign and shade."""
    paths: dict[tuple[bool, int], list[str]] = {}
    for row, numbers in enumerate(values):
        for column, value in enumerate(numbers):
            level = round(min(abs(value), 1) * _LEVELS)
            square = f"M{left + side * column:g} {top + side * row:g}h{side:g}v{side:g}h-{side:g}z"
            paths.setdefault((value >= 0, level), []).append(square)
    for (positive, level), squares in sorted(paths.items()):
        if level:
            sign = "positive" if positive else "negative"
            yield (
                f'<path class="{sign}" fill-opacity="{level / _LEVELS:g}" d="{"".join(squares)}"/>'
            )


def _join(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)
