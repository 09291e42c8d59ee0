"""What a conversation thread is, and where labelled ones come from."""
