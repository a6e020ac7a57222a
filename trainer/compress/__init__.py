# SPDX-License-Identifier: Apache-2.0
"""Ways to make a model smaller while it is trained. All of them are a ``Compressor``."""
