"""The parts of `graphs/chat.py`: reading messages, computing, telling."""
