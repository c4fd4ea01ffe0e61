"""Batches: what users pass and get, and a compiled kernel run on any number of items."""
