"""The dataset directory, the one contract between the pipeline and the trainer."""
