"""The training loop: step, loss, optimizer, schedule, callbacks, averaging."""
