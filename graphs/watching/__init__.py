"""The parts of `graphs/watch.py`: lines in, open threads, one batch a step, lines out."""
