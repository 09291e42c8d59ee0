"""Who reads and speaks: model clients, verifiers (how), stop policies (when)."""
