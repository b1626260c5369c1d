"""The repository's modules as text, and its import graph: read, never executed."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("pipeline", "model", "trainer", "beamformer")
ENTRY_POINTS = frozenset(
    {
        "pipeline.inspect",
        "pipeline.preprocess",
        "trainer.attention",
        "trainer.demo",
        "trainer.paper",
        "trainer.report",
        "trainer.task",
        "trainer.evaluate",
        "trainer.score",
        "trainer.translate",
        "trainer.export",
        "trainer.table2",
        "trainer.table3",
    }
)


@dataclass(frozen=True)
class Import:
    """One import: `lazy` if it happens inside a function, so not when `importer` is imported."""

    importer: str
    imported: str
    lazy: bool

    @property
    def package(self) -> str:
        """First component of the imported name, such as `keras` of `keras.ops`."""
        return self.imported.partition(".")[0]


def read_modules() -> dict[str, str]:
    """Maps the name of every module of the packages to its source."""
    modules = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            modules[name] = path.read_text(encoding="utf-8")
    return modules


def find_imports(modules: Mapping[str, str]) -> list[Import]:
    """Returns every import; `from package import module` counts as one of the module.

    Raises:
        ValueError: an import is relative.
    """
    return [
        Import(importer, imported, lazy)
        for importer, source in modules.items()
        for statement, lazy in _import_statements(ast.parse(source))
        for imported in _imported_names(importer, statement, modules)
    ]


def _import_statements(
    node: ast.AST, lazy: bool = False
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node, lazy
    lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from _import_statements(child, lazy)


def _imported_names(
    importer: str, statement: ast.Import | ast.ImportFrom, modules: Mapping[str, str]
) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    if statement.level:
        raise ValueError(f"{importer} imports relatively in line {statement.lineno}: write it out.")
    base = statement.module or ""
    members = [f"{base}.{alias.name}" for alias in statement.names]
    return sorted({member if member in modules else base for member in members})
