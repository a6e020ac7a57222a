# SPDX-License-Identifier: Apache-2.0
"""Ray Train: two local workers end where one process does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from small_training import train
from torch import nn

from microlith import trainer
from microlith.trainer.runs import RunTable

PROGRAM = """
import sys
import ray
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def work(config):
    import sys
    sys.path.insert(0, config["tests"])
    import torch
    import test_ray
    torch.set_num_threads(1)
    result = test_ray.run(config["runs"], batch_size=25, strategy="ray")
    if torch.distributed.get_rank() == 0:
        torch.save(result.model.state_dict(), config["weights"])


tests, runs, weights, storage = sys.argv[1:]
ray.init(num_cpus=2, include_dashboard=False)
TorchTrainer(
    work,
    train_loop_config={"tests": tests, "runs": runs, "weights": weights},
    scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(storage_path=storage),
).fit()
"""


def run(folder: str | Path, **options: Any) -> trainer.Fitted:
    """Without dropout and batch statistics twice batches of 25 are batches of 50."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
    return train(folder, model, epochs=2, validation=0.25, name="ray", **options)


@pytest.mark.slow
def test_two_local_workers(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray, of the extra ray, is not installed")
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    places = [str(tmp_path / name) for name in ("runs", "weights.pt", "storage")]
    command = [sys.executable, str(tmp_path / "program.py"), str(Path(__file__).parent), *places]
    ray = {"RAY_AUTH_MODE": "disabled", "RAY_TRAIN_V2_ENABLED": "1", "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "400"}
    result = subprocess.run(command, capture_output=True, text=True, timeout=500, env={**os.environ, **ray})
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    one = run(tmp_path / "one", batch_size=50)
    (row,) = RunTable(tmp_path / "runs").all()
    assert row.status == "finished" and row.hyperparameters["strategy"] == "ray"
    assert row.metrics["val_loss"] == pytest.approx(one.metrics["val_loss"], rel=1e-4)
    for name, value in torch.load(tmp_path / "weights.pt").items():
        torch.testing.assert_close(value, one.model.state_dict()[name], rtol=1e-4, atol=1e-5)
