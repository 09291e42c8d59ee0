"""How JSDRV learns: pre-selection, selector, rewards, and the fine-tuning of both networks."""
