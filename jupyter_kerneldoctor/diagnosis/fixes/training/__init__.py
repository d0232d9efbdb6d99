"""Training steps: PyTorch, Keras, Transformers."""
