from collections.abc import Callable, Sequence
from typing import Any

import apache_beam as beam
import pytest
import tensorflow as tf
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import FixedWindows, TimestampedValue

from pipeline.stages.runners import make_options, make_runner
from tests.helpers.object_store import upload
from tests.trainer.bulk_translation.test_blocks import shout
from trainer.bulk_translation.translate import Translate, TranslatedSentence

LINES = ["b", "", "ccc", "a longer sentence", "b", "ä"]
Batches = list[list[int]]


def translated(line: str) -> TranslatedSentence:
    return TranslatedSentence(line, line.upper(), 0.0)


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> Batches:
    """The lengths of the sentences of each batch that a model received which shouts."""
    received: Batches = []

    def shout_and_record(text: tf.Tensor) -> dict[str, tf.Tensor]:
        received.append(tf.strings.length(text, "UTF8_CHAR").numpy().tolist())
        cut = tf.cast(tf.strings.length(text) > 10, tf.int32)
        return shout(text) | {"source_tokens_cut": cut}

    monkeypatch.setattr(
        "trainer.exporters.saved_model.load_saved_model", lambda *_: shout_and_record
    )
    return received


def run(
    elements: Sequence[Any],
    check: Callable[[Any], Any],
    translate: Translate,
    before: beam.PTransform | None = None,
    num_workers: int = 1,
) -> Any:
    """Runs a pipeline in this process; returns its result."""
    mode = ["--direct_running_mode=multi_threading"] if num_workers > 1 else []
    options = make_options("DirectRunner", num_workers, mode, [])
    runner = make_runner(options) if num_workers == 1 else "FnApiRunner"
    pipeline = beam.Pipeline(runner=runner, options=options)
    sentences = pipeline | beam.Create(elements, reshuffle=False)
    assert_that((sentences | before if before else sentences) | translate, check)
    result = pipeline.run()
    result.wait_until_finish()
    return result


def test_each_string_becomes_a_translation_with_its_score(batches: Batches) -> None:
    expected = [translated(line) for line in LINES]
    run(LINES, equal_to(expected), Translate("model"))


def test_a_key_stays_with_its_sentence(batches: Batches) -> None:
    keyed = [((number, "news"), line) for number, line in enumerate(LINES)]
    expected = [(key, translated(line)) for key, line in keyed]
    run(keyed, equal_to(expected), Translate("model"))


@pytest.mark.parametrize(("at_once", "sizes"), [(4, [4, 2]), (6, [6]), (100, [6])])
def test_a_bundle_is_sorted_by_length(batches: Batches, at_once: int, sizes: list[int]) -> None:
    translate = Translate("model", sentences_at_once=at_once)
    run(LINES, equal_to([translated(line) for line in LINES]), translate)
    assert [len(batch) for batch in batches] == sizes
    assert [sorted(batch, reverse=True) for batch in batches] == batches


class _Stamp(beam.PTransform):
    """Gives each sentence its length as its time, in windows of 10 seconds."""

    def expand(self, lines: beam.PCollection) -> beam.PCollection:
        stamped = lines | beam.Map(lambda line: TimestampedValue(line, len(line)))
        return stamped | beam.WindowInto(FixedWindows(10))


def test_windows_and_timestamps_are_kept(batches: Batches) -> None:
    class Reveal(beam.DoFn):
        def process(
            self,
            element: TranslatedSentence,
            window: Any = beam.DoFn.WindowParam,
            timestamp: Any = beam.DoFn.TimestampParam,
        ) -> Any:
            yield element.source, int(window.start), int(timestamp)

    options = make_options("DirectRunner", 1, [], [])
    with beam.Pipeline(runner=make_runner(options), options=options) as pipeline:
        sentences = pipeline | beam.Create(LINES, reshuffle=False) | _Stamp()
        revealed = sentences | Translate("model") | beam.ParDo(Reveal())
        expected = [(line, len(line) // 10 * 10, len(line)) for line in LINES]
        assert_that(revealed | beam.WindowInto(beam.window.GlobalWindows()), equal_to(expected))
    assert len(batches) == 1  # windows of a bundle are translated together


def test_sentences_are_counted_for_the_runners_page(batches: Batches) -> None:
    result = run(LINES, equal_to([translated(line) for line in LINES]), Translate("model"))
    counters = result.metrics().query()["counters"]
    counts = {counter.key.metric.name: counter.committed for counter in counters}
    assert (counts["sentences"], counts["sentences_cut"]) == (len(LINES), 1)


def test_threads_of_a_process_share_one_model(
    batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []

    def load(directory: str, _: str) -> Callable[..., Any]:
        loads.append(directory)
        return shout

    monkeypatch.setattr("trainer.exporters.saved_model.load_saved_model", load)
    many = [str(number) for number in range(200)]
    expected = equal_to([translated(line) for line in many])
    run(many, expected, Translate("model"), beam.Reshuffle(), num_workers=4)
    assert loads == ["model"]


@pytest.mark.parametrize("element", [7, b"bytes", ("a", "b", "c"), ("key", 7)])
def test_what_is_no_sentence_is_an_error(batches: Batches, element: object) -> None:
    with pytest.raises(Exception, match="expected a string, or a key and a string"):
        run([element], equal_to([]), Translate("model"))


def test_a_missing_model_is_named(batches: Batches, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    upload("mem://models/news/saved_model.pb", b"")
    with pytest.raises(Exception, match="did you mean mem://models/news"):
        run(LINES, equal_to([]), Translate("mem://models"))
