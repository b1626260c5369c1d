"""The commands under the names that the wheel installs, such as `beamformer-train`.

They work in any folder, also beside a `model.py` of the user's own: unlike `python -m`, a program
by name does not look for modules in the current folder.
"""

import os
import runpy
import sys
from pathlib import Path

MODULES = {
    "beamformer-attention": "trainer.attention",
    "beamformer-demo": "trainer.demo",
    "beamformer-evaluate": "trainer.evaluate",
    "beamformer-export": "trainer.export",
    "beamformer-inspect": "pipeline.inspect",
    "beamformer-paper": "trainer.paper",
    "beamformer-preprocess": "pipeline.preprocess",
    "beamformer-report": "trainer.report",
    "beamformer-score": "trainer.score",
    "beamformer-table2": "trainer.table2",
    "beamformer-table3": "trainer.table3",
    "beamformer-train": "trainer.task",
    "beamformer-translate": "trainer.translate",
}


def run() -> None:
    """Runs the command of this program's name; its workers ignore the current folder too."""
    os.environ["PYTHONSAFEPATH"] = "1"
    runpy.run_module(MODULES[Path(sys.argv[0]).stem], run_name="__main__", alter_sys=True)
