"""Translates blocks of text on the workers of a Beam runner, by Beam's RunInference.

The one module of the trainer that uses Beam. An element is a whole block, already a good batch, so
RunInference's own batching is left out; it loads the model once for each worker process and tells
the engine's metrics of the time that inference takes.
"""

import resource
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import apache_beam as beam
from apache_beam.ml.inference import base
from apache_beam.ml.inference.base import ModelHandler, RunInference
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline.stages.runners import make_runner, run_to_end
from trainer.bulk_translation.blocks import Model, TextBlock, translate_block

if TYPE_CHECKING:
    from trainer.inference.batching import Translate


base.resource = resource  # which Beam lets go of, and then misses, where it has no torch


class TranslationHandler(ModelHandler):
    """Tells RunInference how to load a model and how to translate a block into its part."""

    def __init__(self, model: Model, folder: str) -> None:
        """Keeps what to translate with and where the parts go."""
        super().__init__()
        self._model = model
        self._folder = folder

    def load_model(self) -> "Translate":
        """Loads the model, once for each worker process."""
        return self._model.load()

    def run_inference(
        self,
        batch: Sequence[TextBlock],
        model: "Translate",
        inference_args: dict[str, Any] | None = None,
    ) -> Iterator[str]:
        """Translates blocks and yields the names of their parts."""
        for block in batch:
            # The runner has a worker for each core already.
            translate_block(block, self._folder, model, batches_at_once=1)
            yield block.name

    def should_skip_batching(self) -> bool:
        """Returns that elements are batches already."""
        return True


def run_beam_job(
    blocks: Sequence[TextBlock], folder: str, model: Model, options: PipelineOptions
) -> None:
    """Translates blocks into their parts in `folder`, which every worker must be able to write."""
    pipeline = beam.Pipeline(runner=make_runner(options), options=options)
    batches = pipeline | "ListBlocks" >> beam.Create([[block] for block in blocks])
    batches | "TranslateBlocks" >> RunInference(TranslationHandler(model, folder))
    run_to_end(pipeline)
