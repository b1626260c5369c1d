"""Before tensors: raw parallel text to a dataset directory of TFRecord shards, on Apache Beam."""
