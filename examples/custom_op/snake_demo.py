"""Makes an ONNX model with the operator com.acme.Snake, converts it, and runs it in the runtime and as generated C."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import microlith
from microlith.codegen.execute import Project, build, selftest

HERE = Path(__file__).parent


def model() -> onnx.ModelProto:
    """Conv and Snake; input x [1, 2, 16], output y [1, 3, 16]."""
    rng = np.random.default_rng(1)
    weights = {
        "w": rng.standard_normal((3, 2, 5)).astype(np.float32),
        "alpha": np.array([0.5, 1.0, 2.0], np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[2, 2]),
        helper.make_node("Snake", ["c", "alpha"], ["y"], "snake", domain="com.acme"),
    ]
    graph = helper.make_graph(
        nodes,
        "snake",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 16])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("custom_op_out"), help="the folder to write to")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    microlith.add_ops(HERE / "acme_ops")  # not needed when the package is installed
    onnx.save(model(), folder / "snake.onnx")
    microlith.convert(folder / "snake.onnx", folder / "snake.lith")
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(1, 2, 16)
    print("runtime:", microlith.load(folder / "snake.lith").run({"x": x})["y"][0, :, :4])
    report = microlith.generate(folder / "snake.lith", "host", folder / "snake_c", force=True)
    print("generated:", ", ".join(path for path in report.files if "/acme/" in path))
    project = Project.open(folder / "snake_c")
    build(project)
    print("self-test:", selftest(project).splitlines()[-1])


if __name__ == "__main__":
    main()
