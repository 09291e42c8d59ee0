"""HTML pages: escaping, the document around them, their styles and scripts, and the parts of `eval.report`."""
