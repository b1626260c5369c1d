"""Figures 1 and 2 of the paper as SVG, with the sizes of a configuration."""

from collections.abc import Iterator, Sequence

from model.config import TransformerConfig
from trainer.pages.diagrams import Box, Kind, arrow, diagram, text

_WIDTH, _HEIGHT = 148, 24  # of a box
_SUBLAYER = 80  # height of a sublayer with its normalization
_ENCODER, _DECODER = 130, 350  # middles of the columns
_FOOT = 366  # where the stacks begin


def architecture(config: TransformerConfig) -> str:
    """Returns figure 1: the two stacks and what is before and after them."""
    encoder = _stack(_ENCODER, ["Self-attention"], config.depths.encoder)
    decoder = _stack(
        _DECODER, ["Masked self-attention", "Attention to encoder"], config.depths.decoder
    )
    memory, queries = _FOOT - 2 * _SUBLAYER, _FOOT - _SUBLAYER - 30
    between = (_ENCODER + _DECODER) / 2
    top = _FOOT - 3 * _SUBLAYER
    linear = Box(_DECODER, top - 50, _WIDTH, _HEIGHT, "Linear")
    softmax = Box(_DECODER, top - 92, _WIDTH, _HEIGHT, "Softmax")
    drawing = [
        *_embedding(_ENCODER, "source"),
        *_embedding(_DECODER, "target, shifted right"),
        *encoder,
        *decoder,
        arrow(
            (_ENCODER, memory),
            (_ENCODER, memory - 22),
            (between, memory - 22),
            (between, queries),
            (_DECODER - _WIDTH / 2, queries),
        ),
        linear.draw(),
        softmax.draw(),
        arrow((_DECODER, top), (_DECODER, linear.bottom)),
        arrow((_DECODER, linear.top), (_DECODER, softmax.bottom)),
        arrow((_DECODER, softmax.top), (_DECODER, softmax.top - 16)),
        text(_DECODER, softmax.top - 22, "probabilities"),
    ]
    sizes = (
        f"d_model {config.model_dim:,}, d_ff {config.feed_forward_dim:,}, h {config.num_heads}, "
        f"d_k {config.key_dim}, d_v {config.value_dim}"
    )
    return diagram("Figure 1", sizes, 490, _FOOT + 112, drawing)


def multi_head(config: TransformerConfig) -> str:
    """Returns figure 2: scaled dot-product attention, and h of them side by side."""
    scaled = ["MatMul", "Scale", "Mask", "Softmax", "MatMul"]
    drawing = [
        *_tower(90, scaled, 260),
        text(60, 284, "Q"),
        text(90, 284, "K"),
        text(150, 284, "V"),
        arrow((60, 272), (60, 260)),
        arrow((150, 272), (150, 58), (132, 58)),
    ]
    heads = Box(330, 124, 170, _HEIGHT, f"attention × {config.num_heads}", "attention")
    concat = Box(330, 78, 110, _HEIGHT, "Concat")
    linear = Box(330, 32, 110, _HEIGHT, "Linear")
    drawing += [heads.draw(), concat.draw(), linear.draw()]
    drawing += [
        arrow((330, 124), (330, concat.bottom)),
        arrow((330, 78), (330, linear.bottom)),
        arrow((330, 32), (330, 12)),
    ]
    for x, name in ((265, "V"), (330, "K"), (395, "Q")):
        projection = Box(x, 190, 54, _HEIGHT, "Linear")
        drawing += [
            projection.draw(),
            arrow((x, 190), (x, heads.bottom)),
            arrow((x, 244), (x, projection.bottom)),
            text(x, 258, name),
        ]
    return diagram(
        "Figure 2", "scaled dot-product attention, multi-head attention", 440, 292, drawing
    )


def _stack(x: float, attentions: Sequence[str], layers: int) -> Iterator[str]:
    """Yields a layer: sublayers from the foot upwards, and how often it is repeated."""
    sublayers: list[tuple[str, Kind]] = [(name, "attention") for name in attentions]
    sublayers.append(("Feed-forward", "feed_forward"))
    for number, (name, kind) in enumerate(sublayers):
        yield from _sublayer(x, _FOOT - number * _SUBLAYER, name, kind)
    top = _FOOT - len(sublayers) * _SUBLAYER
    yield (
        f'<rect class="frame" x="{x - 92:g}" y="{top + 2:g}" width="192" '
        f'height="{_FOOT - top - 4:g}" rx="8"/>'
    )
    yield text(x + (106 if x == _DECODER else -98), (top + _FOOT) / 2, f"{layers} ×",
               anchor="start" if x == _DECODER else "end")  # fmt: skip


def _sublayer(x: float, foot: float, name: str, kind: Kind) -> Iterator[str]:
    """Yields a sublayer with the residual connection around it, above `foot`."""
    inner = Box(x, foot - 42, _WIDTH, _HEIGHT, name, kind)
    norm = Box(x, foot - 76, _WIDTH, 20, "Add & Norm", "norm")
    yield inner.draw()
    yield norm.draw()
    yield arrow((x, foot), (x, inner.bottom))
    yield arrow((x, inner.top), (x, norm.bottom))
    side, middle = x + _WIDTH / 2 + 14, norm.top + norm.height / 2
    yield arrow((x, foot - 8), (side, foot - 8), (side, middle), (x + _WIDTH / 2, middle))


def _embedding(x: float, name: str) -> Iterator[str]:
    plus = _FOOT + 22
    embedding = Box(x, _FOOT + 50, _WIDTH, _HEIGHT, "Embedding · √d_model")
    yield embedding.draw()
    yield text(x, _FOOT + 106, name)
    yield arrow((x, _FOOT + 94), (x, embedding.bottom))
    yield arrow((x, embedding.top), (x, plus + 9))
    yield f'<circle class="frame" cx="{x}" cy="{plus}" r="9"/>' + text(x, plus + 4.5, "+")
    yield arrow((x, plus - 9), (x, _FOOT))
    yield text(
        x + 70, plus + 4, "positions", anchor="start" if x == _DECODER else "middle", quiet=True
    )
    yield arrow((x + (68 if x == _DECODER else 42), plus), (x + 9, plus))


def _tower(x: float, names: Sequence[str], bottom: float) -> Iterator[str]:
    """Yields boxes from `bottom` upwards, with arrows between them."""
    for number, name in enumerate(names):
        box = Box(x, bottom - 46 * number - _HEIGHT, 84, _HEIGHT, name, "attention")
        yield box.draw()
        yield arrow((x, box.bottom + 22 if number else box.bottom + 12), (x, box.bottom))
    yield arrow((x, box.top), (x, box.top - 14))
