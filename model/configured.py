"""Layers that Keras saves and loads: each is made from a configuration, and made again from it."""

import dataclasses
from typing import Any, TypeVar

import keras

from model.config import TransformerConfig

Class = TypeVar("Class", bound=type)


def register(cls: Class) -> Class:
    """Registers a class with Keras, so that models which contain it can be loaded."""
    return keras.saving.register_keras_serializable("beamformer")(cls)


def restore_config(values: dict[str, Any]) -> dict[str, Any]:
    """Returns arguments of `get_config` with the configuration as an object again."""
    return {**values, "config": TransformerConfig(**values["config"])}


class ConfiguredLayer(keras.layers.Layer):
    """A layer that is made from the architecture's configuration.

    Args:
        config: the architecture.
        name: of the layer; Keras chooses one by default.
        settings: more arguments of `keras.layers.Layer`.
    """

    def __init__(self, config: TransformerConfig, name: str | None = None, **settings: Any) -> None:
        super().__init__(name=name, **settings)
        self.config = config

    def get_config(self) -> dict[str, Any]:
        return {"config": dataclasses.asdict(self.config), "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "ConfiguredLayer":
        """Makes the layer that `get_config` describes, with fresh weights."""
        return cls(**restore_config(config))
