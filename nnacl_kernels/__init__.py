"""Kernels: plan half and run half of every op in C11, usable alone, and Python's view of them."""
