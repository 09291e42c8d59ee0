"""How to decide: one file a verifier that is one step."""
