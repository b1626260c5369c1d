from pipeline.corpora.builtin.seeded_random import Dice


def test_golden_sequence():
    # random.Random(1).random() starts 0.1343, 0.8474, 0.7638, 0.2551, 0.4954 in every Python 3.
    dice = Dice(1)
    assert [dice.one_of("abcdefghij") for _ in range(5)] == ["b", "i", "h", "c", "e"]


def test_weights_are_respected():
    dice = Dice(2)
    drawn = [dice.weighted(((1, "rare"), (9, "common"))) for _ in range(2000)]
    assert 140 < drawn.count("rare") < 260


def test_weight_zero_is_never_drawn():
    dice = Dice(3)
    assert {dice.weighted(((0, "never"), (1, "always"))) for _ in range(200)} == {"always"}
