"""Writing the page of the paper."""

import dataclasses
from collections.abc import Sequence

from pipeline.common.settings import setting
from pipeline.common.storage import write_atomically
from trainer.runs.run_directory import Run, load_run
from trainer.runs.trained_model import TrainedModel
from trainer.runtime.startup import start_tensorflow

# Figures 3, 4 and 5 are of these two sentences; their tokens are the paper's.
SENTENCES = (
    "It is in this spirit that a majority of American governments have passed new laws since 2009 "
    "making the registration or voting process more difficult.",
    "The Law will never be perfect, but its application should be just - this is what we are "
    "missing, in my opinion.",
)


@dataclasses.dataclass(frozen=True)
class PaperConfig:
    """Contents and place of the page."""

    run_dir: str | None = setting(
        None, "Run whose attention figures 3 to 5 show; default: the page has none."
    )
    text: str | None = setting(
        None, "Sentences for figures 3 to 5, one per line; default: those of the paper."
    )
    output_file: str = setting("paper.html", "Page to write.")

    @property
    def sentences(self) -> Sequence[str]:
        """The sentences whose attention is shown."""
        return self.text.splitlines() if self.text else SENTENCES


def write_paper(config: PaperConfig) -> str:
    """Writes the page and returns its path.

    Raises:
        UserError: the run or its checkpoint is missing.
    """
    run = load_run(config.run_dir) if config.run_dir else None

    start_tensorflow()
    from trainer.paper.figures import draw_figures
    from trainer.paper.page import NO_RUN, paper_page

    heads = _draw_heads(run, config.sentences) if run else NO_RUN
    write_atomically(config.output_file, paper_page(draw_figures(), heads).encode())
    return config.output_file


def _draw_heads(run: Run, sentences: Sequence[str]) -> str:
    """Returns the attention of sentences, which figures 3 to 5 show."""
    from trainer.inference.sentence_attention import attend_to_sentences
    from trainer.inference.translator import load_translator
    from trainer.pages.attention_viewer import viewers
    from trainer.paper.page import heads_note

    model = TrainedModel(run_dir=str(run.directory))
    translator, _checkpoint = load_translator(run, model, run.search)
    attention = attend_to_sentences(run, translator, sentences)
    return heads_note(run.directory.name) + viewers(attention)
