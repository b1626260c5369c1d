"""The driver: finds the inputs, runs the stages, writes the dataset directory and its data card."""
