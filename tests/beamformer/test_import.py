"""`import beamformer` is quick: names are imported when they are used."""

import subprocess
import sys

import pytest

import beamformer as bf
from tests.architecture.source import ROOT

HEAVY = {"absl", "apache_beam", "keras", "numpy", "tensorflow"}


def loaded_after(program: str) -> set[str]:
    command = [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_the_import_loads_no_library() -> None:
    assert loaded_after("import beamformer") & HEAVY == set()


def test_configurations_and_errors_are_used_without_tensorflow() -> None:
    loaded = loaded_after("import beamformer as bf; bf.SearchConfig(), bf.UserError, bf.train")
    assert loaded & {"apache_beam", "keras", "tensorflow"} == set()


def test_every_public_name_exists_and_is_listed() -> None:
    assert set(bf.__all__) <= set(dir(bf))
    for name in bf.__all__:
        assert getattr(bf, name).__doc__, name


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'beamformer' has no attribute 'laod'"):
        bf.laod  # noqa: B018


def test_every_layer_is_there() -> None:
    assert {bf.layers.MultiHeadAttention.__name__, "Encoder"} <= set(bf.layers.__all__)
