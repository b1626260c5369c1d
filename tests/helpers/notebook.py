"""Executes a notebook without Jupyter, and keeps its outputs in the file.

    python -m tests.helpers.notebook notebooks/attention_is_all_you_need.ipynb

The value of a cell's last expression and whatever `display` gets are shown as in Jupyter: as a
picture, HTML or text. What goes to standard error, such as progress, is not kept.
"""

import argparse
import ast
import contextlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]
Output = dict[str, Any]


def main() -> None:
    """Executes a notebook in the working directory and writes its outputs into the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("notebook", type=Path)
    path: Path = parser.parse_args().notebook
    notebook = read(path)
    for count, (cell, outputs) in enumerate(execute(notebook), 1):
        cell["execution_count"], cell["outputs"] = count, outputs
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> Notebook:
    """Reads a notebook."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def execute(
    notebook: Notebook, replacing: Mapping[str, str] | None = None
) -> Iterator[tuple[Notebook, list[Output]]]:
    """Executes the cells of code, one after another; yields each with its outputs.

    Args:
        notebook: its cells are executed as one program.
        replacing: text to execute in place of other text, which must be there.
    """
    shown: list[Output] = []
    names: dict[str, Any] = {
        "__name__": "__main__",
        "display": lambda value: shown.append(_show(value, "display_data")),
    }
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    missing = set(replacing or ()) - {text for text in replacing or () if text in _code(cells)}
    if missing:
        raise ValueError(f"expected in the notebook: {sorted(missing)}")
    for cell in cells:
        source = "".join(cell["source"])
        for text, other in (replacing or {}).items():
            source = source.replace(text, other)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _run(source, names)
        stream = {"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())}
        outputs = [stream] if printed.getvalue() else []
        outputs += shown
        if value is not None:
            outputs.append(_show(value, "execute_result"))
        shown.clear()
        yield cell, outputs


def _code(cells: list[Notebook]) -> str:
    return "\n".join("".join(cell["source"]) for cell in cells)


def _run(source: str, names: dict[str, Any]) -> Any:
    """Executes a cell; returns the value of its last statement if that is an expression."""
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "cell", "exec"), names)
        return None
    del tree.body[-1]
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def _show(value: Any, kind: str) -> Output:
    """Returns the output that shows a value in every form that it has."""
    data: dict[str, list[str]] = {}
    for method, form in (("_repr_svg_", "image/svg+xml"), ("_repr_html_", "text/html")):
        if hasattr(value, method):
            data[form] = _lines(getattr(value, method)())
    data["text/plain"] = _lines(repr(value))
    output: Output = {"output_type": kind, "data": data, "metadata": {}}
    return output if kind == "display_data" else output | {"execution_count": None}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    main()
