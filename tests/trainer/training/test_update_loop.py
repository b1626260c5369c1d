"""Several updates per call, and figures that are read later."""

import threading
import time
from collections.abc import Callable, Iterator

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.helpers.scripted_model import PLAIN, AfterUpdate, ScriptedModel, fit
from trainer.data.input_pipeline import distribute
from trainer.training.call_plan import Call
from trainer.training.learning_rate import LearningRateSchedule
from trainer.training.train_step import TrainingModel
from trainer.training.update_figures import UpdateFigures

MakeTrainingModel = Callable[..., TrainingModel]
UPDATES = 7
SIDES = ("source", "target")
Bits = list[bytes]


def batches() -> tf.data.Dataset:
    """Global batches of two lengths, each with other ids."""

    def make() -> Iterator[dict[str, np.ndarray]]:
        random = np.random.default_rng(3)
        for length in (3, 5, 3, 4, 5, 3, 4, 3):
            yield {side: random.integers(3, 20, (4, length), np.int32) for side in SIDES}

    ids = tf.TensorSpec((None, None), tf.int32)
    return tf.data.Dataset.from_generator(
        make, output_signature={side: ids for side in SIDES}
    ).repeat()


def train(training_model: TrainingModel, updates_per_call: list[int]) -> Bits:
    """Returns the bits of weights, optimizer and random state, and of all figures."""
    calls = [Call(updates, at_event=False) for updates in updates_per_call]
    training_model.calls = iter(calls)
    training_model.offset_dropout_seeds()
    training_model.fit(
        distribute(batches(), training_model.distribute_strategy),
        steps_per_epoch=len(calls),
        callbacks=[LearningRateSchedule(model_dim=16, warmup_steps=3)],
        shuffle=False,
        verbose=0,
    )
    assert training_model.traces == 1
    figures = training_model.read_figures()
    assert [row.learning_rate > 0 for row in figures] == [True] * UPDATES
    variables = [*training_model.transformer.variables, *training_model.optimizer.variables]
    return [np.array(figures).tobytes()] + [
        keras.ops.convert_to_numpy(variable).tobytes() for variable in variables
    ]


@pytest.mark.parametrize("replicas", [1, 2])
def test_updates_have_the_same_bits_however_many_a_call_makes(
    make_training_model: MakeTrainingModel, eight_cpus: list[str], replicas: int
) -> None:
    results = []
    for updates_per_call in ([1] * UPDATES, [3, 3, 1], [UPDATES]):
        strategy = (
            tf.distribute.MirroredStrategy(
                eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
            )
            if replicas == 2
            else tf.distribute.get_strategy()
        )
        keras.utils.set_random_seed(1)
        with strategy.scope():
            training_model = make_training_model(ema_decay=0.5, log_every_steps=UPDATES)
        results.append(train(training_model, updates_per_call))
    assert results[0] == results[1] == results[2]


def test_figures_are_read_after_events_and_not_before() -> None:
    rows = [(float(n), *PLAIN[1:]) for n in range(1, 8)]
    training_model = ScriptedModel(rows)
    observed: list[tuple[int, float]] = []
    after_call: list[int] = []

    class Observe(keras.callbacks.Callback):
        def on_train_begin(self, logs: object = None) -> None:
            training_model.observers.append(lambda step, row: observed.append((step, row.loss)))

    calls = [Call(2, False), Call(1, True), Call(3, False), Call(1, True)]
    count = AfterUpdate(lambda _: after_call.append(len(observed)))
    fit(training_model, 7, Observe(), count, calls=calls)
    assert after_call == [0, 3, 3, 7]
    assert observed == [(n, float(n)) for n in range(1, 8)]
    assert training_model.step == 7


def test_figures_are_read_before_the_table_would_overflow() -> None:
    """The table of the scripted model has eight rows."""
    training_model = ScriptedModel([(float(n), *PLAIN[1:]) for n in range(1, 12)])
    observed: list[float] = []

    class Observe(keras.callbacks.Callback):
        def on_train_begin(self, logs: object = None) -> None:
            training_model.observers.append(lambda _, row: observed.append(row.loss))

    fit(training_model, 11, Observe(), calls=[Call(4, False), Call(4, False), Call(3, False)])
    assert observed == list(range(1, 9))
    training_model.read_figures()
    assert observed == list(range(1, 12))


def test_fit_converts_no_tensor_between_updates() -> None:
    """A value in the logs would make Keras wait for the device after every call."""
    seen: list[object] = []

    class Logs(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: object = None) -> None:
            seen.append(logs)

    fit(ScriptedModel([PLAIN] * 2), 2, Logs())
    assert seen == [{}, {}]


def test_another_session_goes_on_from_the_optimizer_s_count() -> None:
    training_model = ScriptedModel([PLAIN] * 5)
    fit(training_model, 3)
    training_model.step = 0  # as in a new process that has restored a checkpoint
    fit(training_model, 2)
    assert training_model.step == 5


def test_it_is_known_since_when_a_batch_is_waited_for() -> None:
    training_model = ScriptedModel([PLAIN] * 2)
    requested, release = threading.Event(), threading.Event()

    def make() -> Iterator[dict[str, np.ndarray]]:
        yield {"source": np.zeros(1, np.float32)}
        requested.set()
        release.wait(60)
        yield {"source": np.zeros(1, np.float32)}

    signature = {"source": tf.TensorSpec((1,), tf.float32)}
    iterator = iter(tf.data.Dataset.from_generator(make, output_signature=signature))
    before = time.monotonic()
    training_model.train_on_next(iterator)
    waiting = [training_model.waiting_since]
    update = threading.Thread(target=training_model.train_on_next, args=(iterator,))
    update.start()
    assert requested.wait(60)
    while waiting[-1] is None and update.is_alive():
        time.sleep(0.01)
        waiting.append(training_model.waiting_since)
    release.set()
    update.join(60)
    assert waiting[0] is training_model.waiting_since is None
    since = waiting[-1]
    assert since is not None and before <= since <= time.monotonic()


def test_a_row_of_figures_has_a_name_for_every_column() -> None:
    training_model = ScriptedModel([PLAIN])
    fit(training_model, 1, calls=[Call(1, False)])
    (row,) = training_model.read_figures()
    assert row == UpdateFigures(*PLAIN[:4], 10 * PLAIN[1], 1.0, PLAIN[4], 0.25)
