"""The page: the paper read in code, and ten bugs."""

from collections.abc import Iterable, Mapping

from trainer.pages.html import escape, page
from trainer.paper.sections import CHAPTERS, Section
from trainer.paper.ten_bugs import TEN_BUGS, Bug, Edit

_INTRODUCTION = (
    '<p class="subject">"Attention Is All You Need" (Vaswani et al. 2017), section by section: our '
    "code, the tests, what they compare with, and where we depart from the paper. Figures are "
    "drawn from what the code computes.</p>"
)
_BUGS = (
    '<p class="note">Mistakes that Transformers are often written with. A test makes each edit and '
    "sees the test named below it fail, and pass with our line.</p>"
)
_HEADS = '<p class="note">Every head of the run {run}.</p>'
NO_RUN = (
    '<p class="note">Drawn from a trained run: '
    "<code>python -m trainer.paper --run_dir=runs/demo</code></p>"
)


def paper_page(figures: Mapping[str, str], heads: str) -> str:
    """Returns the page.

    Args:
        figures: HTML by the names of `trainer.paper.sections`.
        heads: HTML of figures 3 to 5.
    """
    sections = {
        chapter: "\n".join(_section(section, figures) for section in chapter_sections)
        for chapter, chapter_sections in CHAPTERS.items()
    }
    sections["Figures 3 to 5: what heads attend to"] = heads
    sections["Ten bugs in Transformers"] = _BUGS + _bugs()
    return page(
        "Attention Is All You Need, read in code",
        sections,
        introduction=_INTRODUCTION,
        scripts=["charts.js", "attention_viewer.js"],
    )


def heads_note(run: str) -> str:
    """Returns a note on which run figures 3 to 5 are of."""
    return _HEADS.format(run=escape(run))


def _section(section: Section, figures: Mapping[str, str]) -> str:
    entries = {
        "code": _list(f"<code>{escape(name)}</code>" for name in section.code),
        "tests": _list(f"<code>{escape(name)}</code>" for name in section.tests),
        "compared with": escape(section.checked),
        "departures": _list(map(escape, section.deviations)),
    }
    body = "".join(f"<dt>{name}</dt><dd>{html}</dd>" for name, html in entries.items() if html)
    return (
        f'<article class="paper" id="s{section.number}">\n'
        f"<h3>§{section.number} {escape(section.title)}</h3>\n"
        f'<p class="says">{escape(section.says)}</p>\n{figures.get(section.figure, "")}\n'
        f"<dl>{body}</dl>\n</article>"
    )


def _list(items: Iterable[str]) -> str:
    html = "".join(f"<li>{item}</li>" for item in items)
    return html and f"<ul>{html}</ul>"


def _bugs() -> str:
    return f'<ol class="bugs">{"".join(map(_bug, TEN_BUGS))}</ol>'


def _bug(bug: Bug) -> str:
    section = f" (§{bug.section})"
    return (
        f"<li><p><b>{escape(bug.name)}</b>{escape(section)}: {escape(bug.symptom)}</p>\n"
        f"{''.join(map(_edit, bug.edits))}</li>\n"
    )


def _edit(edit: Edit) -> str:
    return (
        f"<pre>{escape(edit.file)}\n<ins>  {escape(edit.ours)}</ins>\n"
        f"<del>✗ {escape(edit.broken)}</del></pre>\n<p><code>{escape(edit.test)}</code></p>\n"
    )
