"""Pages that show themselves in a notebook."""

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.pages.html import escape

if TYPE_CHECKING:
    from trainer.inference.sentence_attention import SentenceAttention

_HEIGHT = 720  # pixels: a sentence's small maps and one head in full


@dataclasses.dataclass(frozen=True, repr=False)
class AttentionPage:
    """The attention of sentences, as an interactive page that loads nothing else.

    html: the page, which `trainer.attention` would write.
    sentences: subwords and weights of each sentence.
    """

    html: str
    sentences: "list[SentenceAttention]"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file that any browser opens."""
        Path(path).write_text(self.html, "utf-8")

    def __repr__(self) -> str:
        lines = [f"{sentence.text} → {sentence.translation}" for sentence in self.sentences]
        return f"<{type(self).__name__} of {'; '.join(lines)}>"

    def _repr_html_(self) -> str:
        """Returns a frame: styles and scripts of page and notebook stay apart."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
        )
