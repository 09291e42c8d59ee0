"""LangGraph state machines, where when meets how."""
