"""The model's layers, each a Keras layer that builds, trains and saves alone."""

from model.attention import MultiHeadAttention
from model.decoder import Decoder, DecoderLayer
from model.embedding import SharedEmbedding
from model.encoder import Encoder, EncoderLayer
from model.positions import LearnedPositions, SinusoidalPositions
from model.sublayers import FeedForward

__all__ = [
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "LearnedPositions",
    "MultiHeadAttention",
    "SharedEmbedding",
    "SinusoidalPositions",
]
