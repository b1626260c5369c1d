from pipeline.corpora.builtin.seeded_random import SeededRandom


def test_golden_sequence():
    # random.Random(1).random() starts 0.1343, 0.8474, 0.7638, 0.2551, 0.4954 in every Python 3.
    rng = SeededRandom(1)
    assert [rng.choice("abcdefghij") for _ in range(5)] == ["b", "i", "h", "c", "e"]


def test_weights_are_respected():
    rng = SeededRandom(2)
    drawn = [rng.weighted_choice(((1, "rare"), (9, "common"))) for _ in range(2000)]
    assert 140 < drawn.count("rare") < 260


def test_weight_zero_is_never_drawn():
    rng = SeededRandom(3)
    assert {rng.weighted_choice(((0, "never"), (1, "always"))) for _ in range(200)} == {"always"}
