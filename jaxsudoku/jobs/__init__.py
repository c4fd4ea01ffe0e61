"""Folders of jobs: what several workers have done, so that a job that is stopped, even killed, goes on. No JAX."""

from .folder import JobFolder, Plan, Record

__all__ = ["JobFolder", "Plan", "Record"]
