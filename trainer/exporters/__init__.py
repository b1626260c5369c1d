"""Exports of a trained model: SavedModel for TF Serving, CTranslate2."""
