"""Batches as arrays of one library, on one device: PyTorch, JAX, TensorFlow, and what GPUs need for it."""
