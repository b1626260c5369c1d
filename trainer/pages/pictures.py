"""Figures of pages as files of SVG, with their caption, legend and style."""

import dataclasses
import re
from collections.abc import Iterator
from importlib import resources

_FIGURE = re.compile(r'<figure class="(?:chart|diagram)".*?</figure>', re.DOTALL)
_DRAWING = re.compile(r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>(.*?)</svg>', re.DOTALL)
_LEGEND = re.compile(r'<span class="(curve-\d)">(.*?) <output>')
_POINTS = re.compile(r' data-points="[^"]*"')  # for a page's script
_CAPTION, _ENTRY, _WIDTH = 24, 18, 380  # pixels: heights, and the least width
_RULES = re.compile(r"\.(curve-|(chart|diagram) [^{])")  # not of the frame around a figure


@dataclasses.dataclass(frozen=True, repr=False)
class Picture:
    """A figure that shows itself in a notebook.

    figure: HTML, of `trainer.pages.charts` or `trainer.pages.diagrams`.
    """

    figure: str

    def svg(self) -> str:
        """Returns a file of SVG: caption, drawing, legend."""
        (kind,) = re.findall(r'<figure class="(\w+)"', self.figure)
        (caption,) = re.findall(r"<figcaption>(.*?)</figcaption>", self.figure, re.DOTALL)
        ((width, height, drawing),) = _DRAWING.findall(self.figure)
        entries = list(_legend(float(height), self.figure))
        size = (max(float(width), _WIDTH), _CAPTION + float(height) + _ENTRY * len(entries) + 6)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" width="{size[0]:g}" '
            f'height="{size[1]:g}" viewBox="0 0 {size[0]:g} {size[1]:g}">\n'
            f"<style>\n{_style()}</style>\n"
            f'<rect width="100%" height="100%" style="fill: var(--page)"/>\n'
            f'<text x="6" y="16">{re.sub("<[^>]*>", "", caption).strip()}</text>\n'
            f'<g transform="translate(0 {_CAPTION})">{_POINTS.sub("", drawing)}'
            f"{''.join(entries)}</g>\n</svg>\n"
        )

    def __repr__(self) -> str:
        title = re.findall(r"<b>(.*?)</b>", self.figure)
        return f"<{type(self).__name__} of {''.join(title[:1])}>"

    def _repr_svg_(self) -> str:
        return self.svg()


def pictures(figures: str) -> list[Picture]:
    """Returns the figures of a page, or of a part of one."""
    return [Picture(figure) for figure in _FIGURE.findall(figures)]


def _legend(top: float, figure: str) -> Iterator[str]:
    """Yields a line and a name for each curve."""
    for number, (curve, name) in enumerate(_LEGEND.findall(figure)):
        y = top + _ENTRY * (number + 0.5)
        yield (
            f'<line class="{curve}" x1="46" x2="76" y1="{y:g}" y2="{y:g}" stroke-width="1.8"/>'
            f'<text x="84" y="{y + 4:g}">{name}</text>'
        )


def _style() -> str:
    """Returns the colours, light and dark, and the rules for figures, of the pages' style."""
    text = (resources.files("trainer.pages") / "style.css").read_text("utf-8")
    colours, _, rules = text.partition("* {")
    chosen = [line for line in rules.splitlines() if _RULES.match(line)]
    return "\n".join([colours + "text { font-family: system-ui, sans-serif; }", *chosen, ""])
