"""Distribution `beamformer`: what a Beam worker needs by default, what a trainer needs as an extra.

Names are chosen here; version bounds are stated once, in requirements.txt. A source
distribution carries that file, so `--setup_file=./setup.py` works on Beam workers.
"""

import re
import runpy
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent

PIPELINE = (
    "absl-py",
    "apache-beam",
    "google-crc32c",
    "numpy",
    "pyarrow",
    "regex",
    "sentencepiece",
    "tqdm",
    "zstandard",
)
TRAIN = (
    "keras",
    "sacrebleu",
    "sacremoses",
    "tensorboard",
    "tensorflow",
    "tensorflow-text",
)
CHECKS = (
    "boto3",
    "flask-cors",
    "moto",
    "mypy",
    "psutil",
    "py3langid",
    "pytest",
    "pytest-xdist",
    "ruff",
)


def read_requirements(path: Path) -> dict[str, str]:
    """Maps each distribution's name to its requirement, such as `keras` to `keras>=3.15,<3.16`."""
    requirements = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        requirement = line.partition("#")[0].strip()
        if requirement:
            name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
            requirements[name] = requirement
    return requirements


def read_long_description(path: Path) -> str:
    """Returns the README's text, or nothing in a tree without one."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def read_commands(path: Path) -> list[str]:
    """Returns the entry points of the commands that beamformer/commands.py lists."""
    names = runpy.run_path(str(path))["MODULES"]
    return [f"{name} = beamformer.commands:run" for name in names]


def _beam(extra: str) -> str:
    return BOUNDS["apache-beam"].replace("apache-beam", f"apache-beam[{extra}]", 1)


BOUNDS = read_requirements(ROOT / "requirements.txt")

setup(
    name="beamformer",
    version="0.1.0",
    description="The Transformer, from raw parallel text to a served translator",
    long_description=read_long_description(ROOT / "README.md"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=find_packages(
        include=[
            pattern
            for package in ("beamformer", "pipeline", "model", "trainer")
            for pattern in (package, f"{package}.*")
        ]
    ),
    entry_points={"console_scripts": read_commands(ROOT / "beamformer" / "commands.py")},
    package_data={"pipeline.corpora.builtin": ["*.tsv"], "trainer.pages": ["*.css", "*.js"]},
    python_requires=">=3.11",
    install_requires=[BOUNDS[name] for name in PIPELINE],
    extras_require={
        "train": [BOUNDS[name] for name in TRAIN],
        "gpu": [BOUNDS["tensorflow"].replace("tensorflow", "tensorflow[and-cuda]", 1)],
        # Engines and object stores: Beam's own extras.
        "gcp": [_beam("gcp")],
        "aws": [_beam("aws")],
        # Not in the lock: reads `--dataset=hf:…`, which no check and no other command needs.
        "huggingface": ["datasets>=4"],
        # Not in the lock: what `trainer.translate --split_sentences` asks.
        "sentences": ["sentencex>=1.0.32,<2"],
        # What `--identify_languages` asks.
        "langid": [BOUNDS["py3langid"]],
        # Not in the lock: independent implementations that tests compare ours with, or skip.
        "goldens": ["torch>=2.13,<3"],
        "jax": ["jax>=0.10,<1"],
        # Not in the lock: `--format=ctranslate2`, and the messages of TF Serving's clients.
        "ctranslate2": ["ctranslate2>=4.8,<5"],
        "serving": ["tensorflow-serving-api>=2.20,<3"],
        "dev": [BOUNDS[name] for name in CHECKS],
    },
)
