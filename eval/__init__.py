"""Batch runs over corpora into DuckDB, and what is read from it."""
