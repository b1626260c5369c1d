"""Translation of text blocks on the workers of an Apache Beam runner, with RunInference.

An element is a whole block, which is already a batch, so RunInference's batching is skipped.
RunInference loads the model once per worker process and reports the time of inference in the
engine's metrics.
"""

import resource
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import apache_beam as beam
from apache_beam.ml.inference import base
from apache_beam.ml.inference.base import ModelHandler, RunInference
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline.common import storage
from pipeline.stages.runners import make_runner, run_to_end
from trainer.bulk_translation.blocks import Model, TextBlock, translate_block

if TYPE_CHECKING:
    from trainer.inference.batching import Translate


# Beam measures a model's memory with the module `resource`, but sets its own reference to None
# where its model manager, which requires torch, cannot be imported, and then warns at every load.
# There is no public way to restore it.
base.resource = resource


class TranslationHandler(ModelHandler):
    """How RunInference loads a model and translates a block into its part."""

    def __init__(self, model: Model, folder: str, options: Mapping[str, Any]) -> None:
        """Translates with `model` into the parts in `folder`; file systems need the options."""
        super().__init__()
        self._model = model
        self._folder = folder
        self._options = options

    def load_model(self) -> "Translate":
        """Loads the model, once per worker process."""
        storage.connect(self._options)
        return self._model.load()

    def run_inference(
        self,
        batch: Sequence[TextBlock],
        model: "Translate",
        inference_args: dict[str, Any] | None = None,
    ) -> Iterator[str]:
        """Translates blocks and yields the names of their parts."""
        for block in batch:
            # The runner already has a worker per core.
            translate_block(block, self._folder, model, batches_at_once=1)
            yield block.name

    def should_skip_batching(self) -> bool:
        """Returns True: elements are already batches."""
        return True


def run_beam_job(
    blocks: Sequence[TextBlock], folder: str, model: Model, options: PipelineOptions
) -> None:
    """Translates blocks into their parts in `folder`, to which every worker must have access."""
    values = options.get_all_options(drop_default=True)
    pipeline = beam.Pipeline(runner=make_runner(options), options=options)
    batches = pipeline | "ListBlocks" >> beam.Create([[block] for block in blocks])
    batches | "TranslateBlocks" >> RunInference(TranslationHandler(model, folder, values))
    run_to_end(pipeline)
