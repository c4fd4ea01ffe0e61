"""The terminal, for commands and for training: progress, signals, messages of errors, standard streams. No JAX."""
