"""JSDRV's two networks: stance detection (SD) and rumor verification (RV)."""
