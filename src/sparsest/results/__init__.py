"""What a solver returns: the model, its files, its description in words and HTML, and inference after selection."""
