"""One importer per model format: bytes in, a graph with the model's own names out."""
