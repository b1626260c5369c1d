"""COMET in an environment of its own: its package requires other versions than TensorFlow's.

`score` starts the environment's Python with `_PROGRAM`, which requires `unbabel-comet` alone.
"""

import json
import os
import subprocess
from collections.abc import Sequence

from pipeline.common.errors import UserError
from trainer.evaluation.result import MetricScore

_PROGRAM = """
import json, os, sys
import comet, torch
request = json.load(sys.stdin)
name = request["model"]
path = name if os.path.exists(name) else comet.download_model(name)
model = comet.load_from_checkpoint(path)
gpus = int(torch.cuda.is_available())
prediction = model.predict(request["samples"], batch_size=request["batch_size"], gpus=gpus)
print()
print(json.dumps({"score": float(prediction.system_score), "version": comet.__version__}))
"""
_BATCH_SIZE = 16  # sentences


def score(
    sources: Sequence[str],
    translations: Sequence[str],
    references: Sequence[str],
    *,
    model: str,
    python: str,
) -> MetricScore:
    """Scores translations by a COMET model.

    Args:
        sources: sentences.
        translations: one of each.
        references: one of each; COMET takes no more.
        model: name on the Hugging Face hub, such as "Unbabel/wmt22-comet-da", or a checkpoint.
        python: interpreter of an environment with `unbabel-comet`.

    Returns:
        the system score × 100, without a confidence interval.

    Raises:
        UserError: COMET failed; the last line that it printed says why.
    """
    samples = [
        {"src": source, "mt": translation, "ref": reference}
        for source, translation, reference in zip(sources, translations, references, strict=True)
    ]
    request = {"model": model, "samples": samples, "batch_size": _BATCH_SIZE}
    try:
        done = subprocess.run(
            [os.path.expanduser(python), "-c", _PROGRAM],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        printed = (getattr(error, "stderr", "") or str(error)).strip()
        raise UserError(
            f"received --comet_python={python} and --comet={model}, and COMET failed: "
            f"{printed.splitlines()[-1]}; expected the Python of an environment with "
            "unbabel-comet, and the name or the checkpoint of a model"
        ) from error
    answer = json.loads(done.stdout.splitlines()[-1])
    return MetricScore(
        100 * answer["score"], None, None, f"model:{model}|scale:100|version:{answer['version']}"
    )
