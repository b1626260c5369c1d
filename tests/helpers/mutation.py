"""Mutation testing: an edit of a line, and whether a test notices.

Functions are changed in place, by the code object that their edited source compiles to, so all
modules that have imported a function see the change, and nothing is imported again. (Not for
functions that AutoGraph converts: it reads the file.)
"""

import contextlib
import functools
import importlib
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import pytest

from tests.architecture.source import ROOT


@contextlib.contextmanager
def edited(file: str, ours: str, broken: str) -> Iterator[list[str]]:
    """Replaces text of a module while the context lasts; yields the changed functions' names.

    Raises:
        ValueError: the file does not contain the text exactly once, or it is in no function.
    """
    source = (ROOT / file).read_text(encoding="utf-8")
    if source.count(ours) != 1:
        raise ValueError(f"received {ours!r}: expected text that {file} contains exactly once")
    before, after = _functions(source, file), _functions(source.replace(ours, broken), file)
    changed = [name for name, code in after.items() if code != before[name]]
    if not changed:
        raise ValueError(f"received {ours!r}: expected text within a function of {file}")
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    with contextlib.ExitStack() as stack:
        for name in changed:
            stack.enter_context(_swapped(_find(module, name), after[name]))
        yield changed


def outcomes(test: str) -> list[tuple[str, str]]:
    """Runs a test within this process; returns outcome and error message of each of its cases."""
    recorder = _Recorder()
    options = ["-p", "no:cacheprovider", "--capture=no", "--tb=short", f"--rootdir={ROOT}"]
    pytest.main([*options, str(ROOT / test)], plugins=[recorder])
    return recorder.outcomes


class _Recorder:
    """A plugin of pytest that keeps the outcome of every test."""

    def __init__(self) -> None:
        self.outcomes: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.outcomes.append((report.outcome, crash.message if crash else ""))


def _functions(source: str, file: str) -> dict[str, CodeType]:
    """Returns the code of each function and method by name, such as `Transformer.decode`."""
    module = compile(source, file, "exec")
    members = [code for code in module.co_consts if isinstance(code, CodeType)]
    for code in [*members]:
        if not code.co_flags & inspect.CO_OPTIMIZED:  # a class
            members += [method for method in code.co_consts if isinstance(method, CodeType)]
    return {code.co_qualname: code for code in members if code.co_flags & inspect.CO_OPTIMIZED}


def _find(module: Any, name: str) -> FunctionType:
    function = functools.reduce(getattr, name.split("."), module)
    assert isinstance(function, FunctionType), name
    return function


@contextlib.contextmanager
def _swapped(function: FunctionType, code: CodeType) -> Iterator[None]:
    original = function.__code__
    function.__code__ = code
    try:
        yield
    finally:
        function.__code__ = original
