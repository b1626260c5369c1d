"""HTML for people to read: escaped text, tables, and whole pages that need no other file."""

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

# The policy is also a promise: a page that wanted anything from elsewhere would not get it.
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
{body}
<script>
{script}</script>
</body>
</html>
"""


def page(title: str, sections: Mapping[str, str], *, scripts: Sequence[str] = ()) -> str:
    """Returns a whole page.

    Args:
        title: text.
        sections: HTML by heading, shown in order.
        scripts: file names in this package, such as "charts.js".
    """
    body = "\n".join(
        f"<section>\n<h2>{escape(heading)}</h2>\n{content}\n</section>"
        for heading, content in sections.items()
    )
    return _PAGE.format(
        title=escape(title),
        style=_read("style.css"),
        body=body,
        script="\n".join(map(_read, scripts)),
    )


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns a table; numbers stand to the right, None is an empty cell."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in rows)
    return (
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}</tbody>\n</table></div>"
    )


def escape(text: object) -> str:
    """Returns text as HTML, also within quotes."""
    return html.escape(str(text))


def json_for_script(value: Any) -> str:
    """Returns an element that holds a value as JSON for a script of the page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json">{text}</script>'


def _cell(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td>{escape('' if value is None else value)}</td>"
    number = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return f'<td class="number">{number}</td>'


def _read(name: str) -> str:
    return (resources.files("trainer.pages") / name).read_text("utf-8")
