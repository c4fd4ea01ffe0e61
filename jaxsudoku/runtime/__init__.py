"""Utilities independent of puzzles: settings, files, locks, devices, processes, random numbers and progress."""
