"""Ten bugs that Transformers are written with, and the test of ours that each one breaks.

A bug is one or two edits of our code: a line, and what stands there in code that has the bug.
`tests/trainer/paper/test_ten_bugs.py` makes each edit and runs its test, which fails with the edit
and passes with our line.
"""

from typing import NamedTuple


class Edit(NamedTuple):
    """A line of ours and its broken form.

    file: path in the repository.
    ours: text that the file contains exactly once.
    broken: the same with the bug, in as many lines.
    test: the test that fails, as pytest names it.
    """

    file: str
    ours: str
    broken: str
    test: str


class Bug(NamedTuple):
    """A bug.

    name: what is wrong.
    section: of the paper.
    symptom: what it looks like from outside.
    edits: the lines that have the bug.
    """

    name: str
    section: str
    symptom: str
    edits: tuple[Edit, ...]


_TRANSFORMER = "tests/model/test_transformer.py"
_LOSS = "tests/trainer/training/test_loss.py"
_TRAIN_STEP = "tests/trainer/training/test_train_step.py"
_REPLICAS = "tf.distribute.get_replica_context().num_replicas_in_sync"

TEN_BUGS = (
    Bug(
        "The causal mask is off by one",
        "3.2.3",
        "Perplexity falls towards 1 within minutes; translations are nonsense.",
        (
            Edit(
                "model/masks.py",
                "positions[:, None] >= positions[None, :]",
                "positions[:, None] + 1 >= positions[None, :]",
                f"{_TRANSFORMER}::test_a_token_changes_no_logits_up_to_its_own_position",
            ),
        ),
    ),
    Bug(
        "The target is not shifted right",
        "3.1",
        "The same: each position reads the token that it predicts.",
        (
            Edit(
                "model/transformer.py",
                "self._embed(self.embedding, shift_right(target), positions",
                "self._embed(self.embedding, target, positions",
                f"{_TRANSFORMER}::test_a_token_changes_no_logits_up_to_its_own_position",
            ),
        ),
    ),
    Bug(
        "Padding counts in the loss",
        "5.4",
        "Perplexity looks good and depends on the batch size: padding is easy to predict.",
        (
            Edit(
                "trainer/training/loss.py",
                "weights = tf.cast(labels != PADDING_ID, tf.float32)",
                "weights = tf.ones_like(labels, tf.float32)",
                f"{_LOSS}::test_padding_costs_nothing_and_its_logits_get_no_gradient",
            ),
        ),
    ),
    Bug(
        "Label smoothing reaches padding",
        "5.4",
        "The plain loss is right, the smoothed one depends on the padding of a batch.",
        (
            Edit(
                "trainer/training/loss.py",
                "tf.linalg.matvec(tf.cast(states, tf.float32), weights, transpose_a=True)",
                "tf.reduce_sum(tf.cast(states, tf.float32), axis=0)",
                f"{_LOSS}::test_padding_costs_nothing_and_its_logits_get_no_gradient",
            ),
        ),
    ),
    Bug(
        "The loss is a mean of the devices' means",
        "5.2",
        "Eight devices learn something else than one: tokens of a device with much padding "
        "count more.",
        (
            Edit(
                "trainer/training/train_step.py",
                "(tokens,) = _sum_over_replicas([self._count(data)])",
                f"tokens = self._count(data) * {_REPLICAS}",
                f"{_TRAIN_STEP}::test_two_replicas_make_the_update_of_one_when_padding_is_uneven",
            ),
        ),
    ),
    Bug(
        "Gradients are averaged over devices twice",
        "5.2",
        "Adam hides it: updates hardly change, but the gradient norm does, by the number of "
        "devices, and with it whatever is compared with it, such as ε.",
        (
            Edit(
                "trainer/training/train_step.py",
                "losses, *gradients = _sum_over_replicas([losses, *gradients])",
                f"losses, *gradients = [x / {_REPLICAS} for x in "
                "_sum_over_replicas([losses, *gradients])]",
                f"{_TRAIN_STEP}::test_two_replicas_make_the_update_of_one_when_padding_is_uneven",
            ),
        ),
    ),
    Bug(
        "√d is missing",
        "3.2.1, 3.4",
        "It learns, but slowly: large scores saturate the softmax, and positions outweigh "
        "embeddings.",
        (
            Edit(
                "model/attention.py",
                "query * (1.0 / math.sqrt(query.shape[-1]))",
                "query * 1.0",
                "tests/model/test_attention.py::test_attention_follows_equation_1",
            ),
            Edit(
                "model/embedding.py",
                "ops.take(self.matrix, tokens, axis=0) * math.sqrt(self.model_dim)",
                "ops.take(self.matrix, tokens, axis=0) * 1.0",
                "tests/model/test_embedding.py"
                "::test_embedding_is_a_row_times_the_root_of_the_model_size",
            ),
        ),
    ),
    Bug(
        "Positions are computed in bfloat16",
        "3.5",
        "Beyond token 256 neighbours share a position, so word order of long sentences is lost.",
        (
            Edit(
                "model/positions.py",
                'ops.cast(positions, "float32")[..., None]',
                'ops.cast(ops.cast(positions, "bfloat16"), "float32")[..., None]',
                "tests/model/test_positions.py::test_positions_stay_float32_in_mixed_precision",
            ),
        ),
    ),
    Bug(
        "The length penalty has the wrong length",
        "6.1",
        "Scores of finished translations are off by one token, so α of other code does not "
        "transfer.",
        (
            Edit(
                "model/search/search.py",
                "length_penalty(beam.position + 1, self.config)",
                "length_penalty(beam.position, self.config)",
                "tests/model/search/test_search.py"
                "::test_beam_as_wide_as_the_language_finds_its_best[4-gnmt]",
            ),
        ),
    ),
    Bug(
        "Tokenised BLEU is reported as BLEU",
        "6.1",
        "Scores are 0.7 to 1.5 points above those that others report.",
        (
            Edit(
                "trainer/evaluation/metrics.py",
                "_PreparedMetric(_make_bleu(bleu_tokenizer), list)",
                '_PreparedMetric(_make_bleu("none"), tokenize_as_paper)',
                "tests/trainer/evaluation/test_metrics.py::test_scores_are_those_of_sacrebleu",
            ),
        ),
    ),
)
