"""When to decide: one file a stop policy."""
