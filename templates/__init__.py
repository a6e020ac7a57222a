"""Jinja templates of generated projects: the shape of files, no arithmetic."""
