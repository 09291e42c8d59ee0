"""Runnable comparisons: each prints ratios of one run, since machines differ and are noisy."""
