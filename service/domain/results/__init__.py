"""Results as they come in: batches, what is in, and how it is sealed."""
