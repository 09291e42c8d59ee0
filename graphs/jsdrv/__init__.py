"""The parts of `graphs/annotate_select_finetune.py`, and JSDRV's networks as a verifier."""
