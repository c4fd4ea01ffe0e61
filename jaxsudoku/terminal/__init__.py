"""What commands share with training: progress, errors for people, signals, streams. No JAX."""
