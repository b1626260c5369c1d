"""HTML: escaped text, tables, folded parts, and whole pages that load nothing else."""

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

# The policy guarantees it: the browser refuses whatever a page would load from elsewhere.
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<h1>{title}</h1>
{introduction}
{body}
<script>
{script}</script>
</body>
</html>
"""


def page(
    title: str, sections: Mapping[str, str], *, introduction: str = "", scripts: Sequence[str] = ()
) -> str:
    """Returns a whole page.

    Args:
        title: text.
        sections: HTML by heading, in order.
        introduction: HTML between the title and the first section.
        scripts: file names in this package, such as "charts.js".
    """
    body = "\n".join(
        f"<section>\n<h2>{escape(heading)}</h2>\n{content}\n</section>"
        for heading, content in sections.items()
    )
    return _PAGE.format(
        title=escape(title),
        style=_read("style.css"),
        introduction=introduction,
        body=body,
        script="\n".join(map(_read, scripts)),
    )


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], *, classes: str = "") -> str:
    """Returns a table; None is a dash.

    Args:
        header: titles of the columns.
        rows: text or numbers; numbers are aligned right.
        classes: looks in style.css: "numbers" aligns every column but the first right, "flags"
            sets the first as code, "stacked" shows each row as a list on a narrow screen.
    """
    head = "".join(f"<th>{escape(title)}</th>" for title in header)
    body = "".join(f"<tr>{''.join(map(_format_cell, header, row))}</tr>\n" for row in rows)
    return (
        f'<div class="wide"><table class="{classes}">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}</tbody>\n</table></div>"
    )


def fold(summary: str, content: str) -> str:
    """Returns HTML that is hidden until its summary is clicked."""
    return f"<details><summary>{escape(summary)}</summary>\n{content}\n</details>"


def escape(text: object) -> str:
    """Returns text as HTML, also within quotes."""
    return html.escape(str(text))


def json_for_script(value: Any) -> str:
    """Returns an element with a value as JSON, for a script of the page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json">{text}</script>'


def _format_cell(title: str, value: Any) -> str:
    label = f' data-label="{escape(title)}"' if title else ""
    if value is None:
        return f'<td{label} class="missing">–</td>'
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td{label}>{escape(value)}</td>"
    number = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return f'<td{label} class="number">{number}</td>'


def _read(name: str) -> str:
    return (resources.files("trainer.pages") / name).read_text("utf-8")
