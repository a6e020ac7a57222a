"""Prints a model as a standalone C project for one target, and builds and runs such projects."""

from .project import Report, generate, next_step

__all__ = ["Report", "generate", "next_step"]
