"""The page to try a model on: a form, and below it the answers; it works without scripts."""

from collections.abc import Sequence

from trainer.pages.attention_viewer import viewers
from trainer.pages.demo_answers import Answer, AnswerSentences
from trainer.pages.html import escape, page, table

_FORM = """<form method="post" action="/">
<label for="text">Sentences{language}, one per line</label>
<textarea id="text" name="text" rows="4" lang="{code}" dir="auto" maxlength="{longest}" autofocus
 required>{text}</textarea>
<button type="submit">Translate</button>
<span class="note">or Ctrl + Enter; at most {longest:,} characters</span>
</form>
{message}"""


def demo_page(
    model: AnswerSentences,
    *,
    max_characters: int,
    text: str = "",
    answers: Sequence[Answer] = (),
    problem: str = "",
) -> str:
    """Returns a whole page.

    Args:
        model: gives the title and the languages.
        max_characters: longest text.
        text: what the form holds.
        answers: the translations of its lines.
        problem: why there are none.
    """
    form = _FORM.format(
        language=f" ({escape(model.source_language)})" if model.source_language else "",
        code=escape(model.source_language),
        longest=max_characters,
        text=escape(text),
        message=f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else "",
    )
    sections = {}
    if answers:
        sections["Translation"] = _best(answers, model.target_language)
        if any(len(answer.translations) > 1 for answer in answers):
            sections["Alternatives"] = _alternatives(answers)
    attention = [answer.attention for answer in answers if answer.attention]
    if attention:
        sections["Attention of the first sentence"] = viewers(attention)
    scripts = ["demo.js", *(["attention_viewer.js"] if attention else [])]
    return page(f"Try {model.name}", sections, introduction=form, scripts=scripts)


def _best(answers: Sequence[Answer], language: str) -> str:
    paragraphs = []
    for answer in answers:
        best = answer.translations[0][0] if answer.translations else ""
        text = escape(best) or "<br>"  # a blank line stays one
        paragraphs.append(f'<p class="answer" lang="{escape(language)}" dir="auto">{text}</p>')
        if answer.tokens_cut:
            cut = f"{answer.tokens_cut} subwords at the end of this sentence were left out: it is "
            paragraphs.append(f'<p class="note">{cut}longer than --max_source_length.</p>')
    return "\n".join(paragraphs)


def _alternatives(answers: Sequence[Answer]) -> str:
    return "\n".join(
        table(
            ["", f"of “{_shorten(answer.source)}”", "score"],
            [
                (rank, text, f"{score:.3f}")
                for rank, (text, score) in enumerate(answer.translations, 1)
            ],
        )
        for answer in answers
        if len(answer.translations) > 1
    )


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
