"""Training of the networks: not part of the installed package, run from the project's root."""
