"""One module per pass; ``pipeline.py`` lists them in order."""
