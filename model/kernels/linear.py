"""Linear maps in few operations, and the layout of their weights for search.

On a CPU, weights for search have 16 columns of zeros more than trained ones where the rows of a
kernel would be a multiple of 2 KiB apart, as for 512 columns of float32. Such rows map to the same
few sets of a processor's cache and evict each other (conflict misses): the product with a few dozen
rows takes up to twice as long (tests/benchmarks/RESULTS.md, 4).
"""

from collections.abc import Iterator, Sequence

import keras
from keras import ops

from model import Tensor
from model.kernels.shapes import map_rows, sizes
from model.kernels.target import current_target

_CACHE_LINE = 16  # float32 elements
_CONFLICTING_STRIDE = 512  # float32 elements: 2 KiB


class Linear(keras.layers.Layer):
    """activation(x W + b), as `keras.layers.Dense`, of all rows of the input at once.

    Args:
        size: columns of the result.
        activation: name of a Keras activation, None for the identity.
        use_bias: whether b is added.
        kernel_initializer: initializer of W, Glorot's uniform one by default.
        name: of the layer.

    Call arguments:
        x: float `[..., D]`.

    Returns:
        float `[..., size]`.
    """

    def __init__(
        self,
        size: int,
        *,
        activation: str | None = None,
        use_bias: bool = True,
        kernel_initializer: keras.initializers.Initializer | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.size = size
        self.activation = keras.activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer or keras.initializers.GlorotUniform()
        self.optimized_for_search = False

    def build(self, input_shape: Sequence[int | None]) -> None:
        self.kernel = self.add_weight(
            shape=(input_shape[-1], self.size), initializer=self.kernel_initializer, name="kernel"
        )
        self.bias: Tensor = None
        if self.use_bias:
            self.bias = self.add_weight(shape=(self.size,), initializer="zeros", name="bias")

    def call(self, x: Tensor) -> Tensor:
        columns = self.kernel.shape[1]
        y = map_rows(self._map_rows, x, columns)
        return y if columns == self.size else y[..., : self.size]

    def optimize_for_search(self) -> None:
        """Pads the weights against a CPU's conflict misses; the results stay the same.

        The columns of zeros would learn, so this is for search alone.
        """
        conflicts = current_target() == "cpu" and self.size % _CONFLICTING_STRIDE == 0
        if conflicts and not self.optimized_for_search:
            names = ("kernel", "bias") if self.use_bias else ("kernel",)
            for name in names:
                _replace_weight(self, name, _append_columns(getattr(self, name)))
        self.optimized_for_search = True

    def _map_rows(self, rows: Tensor) -> Tensor:
        y = ops.matmul(rows, self.kernel)
        y = y if self.bias is None else ops.add(y, self.bias)
        return self.activation(y)


def find_linears(layer: keras.layers.Layer) -> Iterator[Linear]:
    """Yields the linear maps in a layer and in the layers that its attributes hold."""
    if isinstance(layer, Linear):
        yield layer
    for name, value in vars(layer).items():
        if name.startswith("_"):  # Keras's own
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, keras.layers.Layer):
                yield from find_linears(child)


def project_heads(projections: Sequence[Linear], x: Tensor, num_heads: int) -> list[Tensor]:
    """Applies projections without bias to float `[B, T, D]`; gives each as `[B, H, T, K]`.

    In training, projections of one size take one product: it and its gradients are quicker than
    those of several, though the kernels are copied side by side. Search keeps them apart.
    """
    apart = any(projection.optimized_for_search for projection in projections)
    if apart or len({projection.size for projection in projections}) > 1:
        return [split_heads(projection(x), num_heads) for projection in projections]
    number = len(projections)
    kernels = ops.concatenate([projection.kernel for projection in projections], axis=1)
    joined = map_rows(lambda rows: ops.matmul(rows, kernels), x, kernels.shape[1])
    batch, length, columns = sizes(joined)
    head_dim = columns // (number * num_heads)
    heads = ops.reshape(joined, (batch, length, number, num_heads, head_dim))  # [B, T, n, H, K]
    return ops.unstack(ops.transpose(heads, (2, 0, 3, 1, 4)), number)  # n times [B, H, T, K]


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Splits float `[B, T, H * K]` into heads, `[B, H, T, K]`."""
    batch, length, columns = sizes(x)
    x = ops.reshape(x, (batch, length, num_heads, columns // num_heads))  # [B, T, H, K]
    return ops.transpose(x, (0, 2, 1, 3))  # [B, H, T, K]


def _append_columns(weight: Tensor) -> Tensor:
    *leading, _ = weight.shape
    return ops.pad(weight, [(0, 0)] * len(leading) + [(0, _CACHE_LINE)])


def _replace_weight(layer: keras.layers.Layer, name: str, value: Tensor) -> None:
    """Gives a built layer a weight of another shape, under the same name and path.

    Keras has no public way: a layer's set of weights is locked when it is built. Its own layers do
    the same in `enable_lora` and `quantize`.
    """
    layer._untrack_variable(getattr(layer, name))
    layer._tracker.unlock()
    setattr(
        layer,
        name,
        layer.add_weight(shape=value.shape, initializer=lambda *_, **__: value, name=name),
    )
    layer._tracker.lock()
