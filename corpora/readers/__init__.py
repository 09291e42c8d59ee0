"""One reader a format: files of strangers in, RawThreads out."""
