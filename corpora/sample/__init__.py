"""The bundled fictional threads."""
