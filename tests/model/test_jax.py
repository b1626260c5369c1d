"""The same model on Keras's JAX backend."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.on_backend import compute, make_weights

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(
    importlib.util.find_spec("jax") is None,
    reason="no JAX: pip install '.[jax]' to compare with it",
)
def test_jax_trains_and_translates_as_tensorflow_does(tmp_path: Path) -> None:
    weights = make_weights()
    np.savez(tmp_path / "weights.npz", **weights)  # type: ignore[arg-type]
    files = [str(tmp_path / name) for name in ("weights.npz", "results.npz")]
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "tests.helpers.on_backend", *files]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    expected = compute(weights)
    with np.load(files[1]) as results:
        assert {*results} == {*expected}
        for name, values in expected.items():
            if name.endswith("tokens"):
                np.testing.assert_array_equal(results[name], values, err_msg=name)
            else:
                np.testing.assert_allclose(results[name], values, atol=1e-4, err_msg=name)


def test_tensorflow_computes_something_to_compare() -> None:
    results = compute(make_weights())
    assert {name.split("/")[1] for name in results} == {"logits", "gradients", "greedy", "beam"}
    for name, values in results.items():
        assert np.isfinite(values).all() and values.any(), name
