# SPDX-License-Identifier: Apache-2.0
"""Makes the helper modules of this folder importable, and keeps PyTorch from taking all cores of a busy machine."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

try:
    import torch
except ModuleNotFoundError:
    collect_ignore_glob = ["test_*.py"]
else:
    torch.set_num_threads(1)
