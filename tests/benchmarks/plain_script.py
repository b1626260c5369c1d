"""Preprocessing without a pipeline: one process, SentencePiece and TensorFlow's writer.

    python -m tests.benchmarks.plain_script SOURCE TARGET FOLDER VOCABULARY_SIZE

Counts, learns, encodes and writes one Example per pair: no cleaning, no buckets, no packing.
"""

import collections
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import sentencepiece
import tensorflow as tf

CHUNK = 20_000


def main(source_path: str, target_path: str, folder: str, vocabulary_size: str) -> None:
    """Runs the script on two aligned files of UTF-8 text."""
    counts = collections.Counter[str]()
    for path in (source_path, target_path):
        for lines in read(path):
            counts.update(word for line in lines for word in line.split())
    model = Path(folder, "plain.model")
    with open(model, "wb") as writer:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(f"{word}\t{count}" for word, count in counts.items()),
            model_writer=writer,
            input_format="tsv",
            model_type="bpe",
            vocab_size=int(vocabulary_size),
            byte_fallback=True,
            minloglevel=2,
        )
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    with tf.io.TFRecordWriter(str(Path(folder, "plain.tfrecord"))) as records:
        for sources, targets in zip(read(source_path), read(target_path), strict=True):
            for source, target in zip(
                processor.encode(sources, num_threads=1, add_eos=True),
                processor.encode(targets, num_threads=1, add_eos=True),
                strict=True,
            ):
                example = tf.train.Example()
                example.features.feature["source"].int64_list.value.extend(source)
                example.features.feature["target"].int64_list.value.extend(target)
                records.write(example.SerializeToString())


def read(path: str) -> Iterator[list[str]]:
    """Yields the lines of a file in chunks of some thousands."""
    with open(path, encoding="utf-8", newline="\n") as file:
        while lines := list(itertools.islice(file, CHUNK)):
            yield [line.strip() for line in lines]


if __name__ == "__main__":
    main(*sys.argv[1:])
