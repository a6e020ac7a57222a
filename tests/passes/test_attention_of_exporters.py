"""Attention as torch and Keras write it: positions in front of the batch, and sizes that are known only by name."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from exporter_models import checked, model, ops_of

SIZES = ({"b": 2, "s": 5, "p": 3}, {"b": 3, "s": 1, "p": 6})
"""Batch, positions of a step, and positions that a cache holds."""


def multi_head(batch: str = "2", length: str = "5") -> onnx.ModelProto:
    """nn.MultiheadAttention: q, k and v from one projection, heads of 3 numbers behind [length, batch]."""
    text = f"""g (float[{batch}, {length}, 12] x) => (float[{batch}, {length}, 12] y)
      <int64[1] first = {{0}}, int64[1] second = {{1}}, int64[1] third = {{2}}, int64[1] fourth = {{3}},
       int64[1] three = {{3}}, int64[1] four = {{4}}, int64[1] last = {{-2}}, int64[1] open = {{-1}},
       int64[1] all = {{12}}, int64[2] rows = {{-1, 12}}, int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}},
       float root = {{0.76}}> {{
        sizes = Shape(x)  n = Slice(sizes, first, second)  s = Slice(sizes, second, third)
        heads = Mul(n, four)
        seven = Transpose <perm = [1, 0, 2]> (x)  packed = MatMul(seven, w)
        parts = Concat <axis = 0> (s, n, three, all)  split = Reshape(packed, parts)
        ahead = Unsqueeze(split, first)  turned = Transpose <perm = [3, 1, 2, 0, 4]> (ahead)
        bare = Squeeze(turned, last)
        q = Gather <axis = 0> (bare, zero)  k = Gather <axis = 0> (bare, one)  v = Gather <axis = 0> (bare, two)
        merged = Concat <axis = 0> (s, heads, three)  apart = Concat <axis = 0> (n, four, s, three)
        q1 = Reshape(q, merged)  q2 = Transpose <perm = [1, 0, 2]> (q1)  q3 = Reshape(q2, apart)
        k1 = Reshape(k, merged)  k2 = Transpose <perm = [1, 0, 2]> (k1)  k3 = Reshape(k2, apart)
        v1 = Reshape(v, merged)  v2 = Transpose <perm = [1, 0, 2]> (v1)  v3 = Reshape(v2, apart)
        flat = Concat <axis = 0> (open, s, three)  k4 = Reshape(k3, flat)  k5 = Transpose <perm = [0, 2, 1]> (k4)
        upright = Concat <axis = 0> (n, four, three, s)  k6 = Reshape(k5, upright)
        qs = Mul(q3, root)  ks = Mul(k6, root)
        m = MatMul(qs, ks)  p = Softmax <axis = -1> (m)  z = MatMul(p, v3)
        together = Transpose <perm = [2, 0, 1, 3]> (z)  matrix = Reshape(together, rows)
        projected = Gemm(matrix, o, c)
        back = Concat <axis = 0> (s, n, all)  apart3 = Reshape(projected, back)
        y = Transpose <perm = [1, 0, 2]> (apart3) }}"""
    inputs = ", float[12, 36] w, float[12, 12] o, float[12] c)"
    rng = np.random.default_rng(7)
    constants = {name: rng.normal(0, 0.3, shape) for name, shape in (("w", (12, 36)), ("o", (12, 12)), ("c", 12))}
    text = text.replace("12] x)", "12] x" + inputs, 1)
    return model(text, {name: array.astype(np.float32) for name, array in constants.items()})


def test_positions_in_front_of_the_batch() -> None:
    """No row is moved: the op takes its heads in either order, and a dense layer takes rows in any."""
    left = set(ops_of(checked(multi_head(), 1e-5)))
    assert left <= {"attention", "dense", "reshape", "slice"}


@pytest.mark.parametrize("sizes", SIZES)
def test_positions_and_batch_of_open_sizes(sizes: dict[str, int]) -> None:
    graph = checked(multi_head("b", "s"), 1e-5, sizes=sizes)
    assert "attention" in ops_of(graph) and not {"softmax", "matmul", "mul"} & set(ops_of(graph))
    assert graph.outputs[0].shape == ("b", "s", 12)


def cached(rest: str = "s", batch: str = "b") -> onnx.ModelProto:
    """A step of a decoder: positions behind those of the cache, turned, in front of keys that are shared by heads."""
    text = f"""g (float[{batch}, s, 4, 8] x, float[{batch}, {rest}, 2, 8] y, float[{batch}, 2, p, 8] keys,
               float[{batch}, 2, p, 8] values, float[4] f) => (float[{batch}, 4, n, 8] z, float[{batch}, 2, m, 8] next)
      <int64[1] first = {{0}}, int64[1] second = {{1}}, int64[1] third = {{2}}, int64[1] fourth = {{3}},
       int64 zero = {{0}}, int64 one = {{1}}, int64[2] halves = {{4, 4}}, int64[1] pair = {{2}}, int64[1] four = {{4}},
       int64[1] eight = {{8}}, float root = {{0.6}}> {{
        xs = Shape(x)  ks = Shape(keys)  count = Slice(xs, first, second)
        now1 = Slice(xs, second, third)  past1 = Slice(ks, third, fourth)
        now = Squeeze(now1)  past = Squeeze(past1)  end = Add(past, now)  end1 = Unsqueeze(end, first)
        r = Range(past, end, one)  rf = Cast <to = 1> (r)  r2 = Unsqueeze(rf, second)
        e = Mul(r2, f)  ee = Concat <axis = -1> (e, e)  c2 = Cos(ee)  s2 = Sin(ee)
        axes = Concat <axis = 0> (first, second)  cos = Unsqueeze(c2, axes)  sin = Unsqueeze(s2, axes)
        q = Transpose <perm = [0, 2, 1, 3]> (x)  k = Transpose <perm = [0, 2, 1, 3]> (y)
        qa, qb = Split <axis = -1> (q, halves)  qn = Neg(qb)  qt = Concat <axis = -1> (qn, qa)
        qc = Mul(q, cos)  qr = Mul(qt, sin)  q1 = Add(qc, qr)
        ka, kb = Split <axis = -1> (k, halves)  kn = Neg(kb)  kt = Concat <axis = -1> (kn, ka)
        kc = Mul(k, cos)  kr = Mul(kt, sin)  k1 = Add(kc, kr)
        next = Concat <axis = 2> (keys, k1)  v = Concat <axis = 2> (values, k)
        wide = Concat <axis = 0> (count, pair, pair, end1, eight)
        merged = Concat <axis = 0> (count, four, end1, eight)
        k2 = Unsqueeze(next, pair)  k3 = Expand(k2, wide)  k4 = Reshape(k3, merged)
        v2 = Unsqueeze(v, pair)  v3 = Expand(v2, wide)  v4 = Reshape(v3, merged)
        square = Concat <axis = 0> (now1, end1)  hidden = Expand(low, square)
        offset = Add(past, one)  mask = Trilu <upper = 1> (hidden, offset)
        kt4 = Transpose <perm = [0, 1, 3, 2]> (k4)  qs = Mul(q1, root)
        m0 = MatMul(qs, kt4)  m1 = Add(m0, mask)  w = Softmax <axis = -1> (m1)  z = MatMul(w, v4) }}"""
    text = text.replace("float[4] f)", "float[4] f, float[1] low)")
    return model(text, {"f": np.float32([1, 0.3, 0.1, 0.03]), "low": np.float32([-1e9])})


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("batch", ["1", "2", "b"])
def test_a_step_with_a_cache_of_open_length(batch: str, sizes: dict[str, int]) -> None:
    graph = checked(cached(batch=batch), 1e-5, sizes=sizes)
    assert ops_of(graph).count("rotary_embedding") == 2 and ops_of(graph).count("attention") == 1
    assert not {"softmax", "matmul"} & set(ops_of(graph))


def test_lengths_that_are_not_known_to_be_equal() -> None:
    """Keys of their own length may broadcast against the angles, so they are no pairs to turn."""
    graph = checked(cached(rest="t"), 1e-5, sizes={"b": 1, "s": 4, "t": 4, "p": 2})
    assert ops_of(graph).count("rotary_embedding") == 1


@pytest.mark.parametrize(
    ("front", "back", "kept"),
    [("1, 0, 2", "1, 0, 2", 0), ("1, 0, 2", "0, 2, 1", 2), ("2, 1, 0", "1, 0, 2", 2)],
)
def test_rows_around_a_dense_layer(front: str, back: str, kept: int) -> None:
    shapes = {"1, 0, 2": (5, 2, 6), "2, 1, 0": (6, 5, 2)}
    shape = ", ".join(map(str, shapes[front]))
    columns = shapes[front][2]
    text = f"""g (float[2, 5, 6] x, float[{columns}, {columns}] w, int64[2] rows, int64[3] again)
      => (float[a, b, c] y) {{
        t = Transpose <perm = [{front}]> (x)  m = Reshape(t, rows)  n = MatMul(m, w)
        r = Reshape(n, again)  y = Transpose <perm = [{back}]> (r) }}"""
    weights = np.random.default_rng(2).standard_normal((columns, columns)).astype(np.float32)
    constants = {"w": weights, "rows": np.array([-1, columns]), "again": np.array(shapes[front])}
    graph = checked(model(text, constants), 1e-5)
    assert ops_of(graph).count("transpose") == kept, shape


@pytest.mark.parametrize("perm", ["0, 2, 1, 3", "1, 2, 0, 3"])
def test_the_operator_takes_heads_as_they_come(perm: str) -> None:
    """Attention of opset 23 has the heads in front of the positions, which it does not need in our op."""
    first, second = (2, 5) if perm.startswith("0") else (5, 2)
    text = f"""g (float[{first}, {second}, 4, 8] q, float[{first}, {second}, 2, 8] k, float[{first}, {second}, 2, 8] v)
      => (float[2, 5, 4, 8] y) <float half = {{0.5}}> {{
        t = Transpose <perm = [{perm}]> (q)  kt = Transpose <perm = [{perm}]> (k)  vt = Transpose <perm = [{perm}]> (v)
        s = Mul(t, half)  z = Attention <is_causal = 1> (s, kt, vt)  y = Transpose <perm = [0, 2, 1, 3]> (z) }}"""
    ops = ops_of(checked(model(text, opset=23), 1e-5))
    assert ops.count("attention") == 1 and ops.count("mul") == 0
    assert ops.count("transpose") == (0 if perm.startswith("0") else 3)


def test_the_operator_shares_heads() -> None:
    text = """g (float[2, 4, 6, 8] q, float[2, 2, 6, 8] k, float[2, 2, 6, 8] v, int64[5] by) => (float[2, 4, 6, 8] y)
      <int64[5] split = {2, 2, 1, 6, 8}, int64[4] merge = {2, 4, 6, 8}> {
        k1 = Reshape(k, split)  k2 = Expand(k1, by)  k3 = Reshape(k2, merge)
        v1 = Reshape(v, split)  v2 = Expand(v1, by)  v3 = Reshape(v2, merge)
        y = Attention(q, k3, v3) }"""
    assert ops_of(checked(model(text, {"by": np.array([2, 2, 2, 6, 8])}, opset=23), 1e-5)) == ["attention"]


def test_shared_heads_behind_the_positions() -> None:
    """As Keras repeats them: straight from the projection, with one more size of 1."""
    text = """g (float[2, 6, 32] q, float[2, 6, 16] k, float[2, 6, 16] v, int64[6] by) => (float[2, 6, 4, 8] y)
      <int64[4] apart = {2, 6, 4, 8}, int64[6] split = {2, 6, 2, 1, 1, 8}> {
        k1 = Reshape(k, split)  k2 = Expand(k1, by)  k3 = Reshape(k2, apart)
        v1 = Reshape(v, split)  v2 = Expand(v1, by)  v3 = Reshape(v2, apart)  q3 = Reshape(q, apart)
        qt = Transpose <perm = [0, 2, 1, 3]> (q3)  kt = Transpose <perm = [0, 2, 3, 1]> (k3)
        vt = Transpose <perm = [0, 2, 1, 3]> (v3)
        m = MatMul(qt, kt)  p = Softmax <axis = -1> (m)  z = MatMul(p, vt)
        y = Transpose <perm = [0, 2, 1, 3]> (z) }"""
    graph = checked(model(text, {"by": np.array([2, 6, 2, 2, 1, 8])}), 1e-5)
    assert set(ops_of(graph)) == {"attention", "reshape"}
