"""Formulas as exporters spell them out: what each becomes, against ONNX Runtime, and where it has to stay as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from exporter_models import Constants, checked, model, ops_of


def unary(body: str) -> str:
    """A function of x [3, 5], in statements that end in y."""
    return f"g (float[3, 5] x) => (float[3, 5] y) <float half = {{0.5}}, float one = {{1}}> {{ {body} }}"


def number(name: str, value: float) -> str:
    return f"{name} = Constant <value = float {{{value!r}}}> () "


# Activations.

QUICK = number("c", 1.702) + "m = Mul(x, c) s = Sigmoid(m) y = Mul(x, s)"
GELU_FAST = (
    number("a", 0.7978845608) + number("b", 0.044715) + "h = Mul(half, x) m = Mul(x, a) n = Mul(x, b) o = Mul(n, x) "
    "p = Add(o, one) q = Mul(m, p) r = Tanh(q) s = Add(r, one) y = Mul(h, s)"
)
ACTIVATIONS = {
    "quick gelu": (QUICK, "swish"),
    "fast gelu": (GELU_FAST, "gelu"),
    "mish": ("s = Softplus(x) t = Tanh(s) y = Mul(x, t)", "mish"),
    "mish of exp and log": ("e = Exp(x) p = Add(e, one) s = Log(p) t = Tanh(s) y = Mul(t, x)", "mish"),
    "softplus with a threshold": (
        number("limit", 20.0) + "s = Softplus(x) c = Greater(x, limit) y = Where(c, x, s)",
        "softplus",
    ),
    "softplus": ("e = Exp(x) p = Add(one, e) y = Log(p)", "softplus"),
    "sigmoid": ("n = Neg(x) e = Exp(n) p = Add(e, one) y = Div(one, p)", "sigmoid"),
    "sigmoid by reciprocal": ("n = Neg(x) e = Exp(n) p = Add(e, one) y = Reciprocal(p)", "sigmoid"),
    "leaky relu": (number("c", 0.1) + "m = Mul(x, c) y = Max(x, m)", "leaky_relu"),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    body, op = ACTIVATIONS[name]
    assert ops_of(checked(model(unary(body)), 1e-6)) == [op]


STAY = {
    "gelu with another number": GELU_FAST.replace("0.044715", "0.05"),
    "softplus with a low threshold": (
        number("limit", 2.0) + "s = Softplus(x) c = Greater(x, limit) y = Where(c, x, s)"
    ),
    "softplus of another value": number("limit", 20.0) + "d = Add(x, x) s = Softplus(d) c = Greater(x, limit) "
    "y = Where(c, x, s)",
    "sigmoid with another number": number("two", 2.0) + "n = Neg(x) e = Exp(n) p = Add(e, two) y = Div(one, p)",
    "mish of another value": "d = Sin(x) s = Softplus(d) t = Tanh(s) y = Mul(x, t)",
    "leaky relu with a slope above 1": number("c", 1.5) + "m = Mul(x, c) y = Max(x, m)",
    "leaky relu with a negative slope": number("c", -0.5) + "m = Mul(x, c) y = Max(x, m)",
}


@pytest.mark.parametrize("name", STAY)
def test_other_formulas_stay(name: str) -> None:
    graph = checked(model(unary(STAY[name])), 1e-6)
    assert not {"gelu", "swish", "mish", "sigmoid", "leaky_relu"} & set(ops_of(graph)) and len(graph.nodes) > 1


@pytest.mark.parametrize("name", ["quick gelu", "fast gelu", "mish", "sigmoid", "leaky relu"])
def test_a_value_in_between_that_is_an_output_stays(name: str) -> None:
    """Every value of the formula in turn is used outside of it; the formula then has to stay."""
    body, op = ACTIVATIONS[name]
    inner = [word for word in re.findall(r"(\w+) = (?!Constant)", body) if word not in ("y", "value")]
    for value in inner:
        text = unary(body).replace("=> (float[3, 5] y)", f"=> (float[3, 5] y, float[3, 5] {value})")
        assert op not in ops_of(checked(model(text), 1e-6)), value


# Constants of neighbours, repetitions, reductions.


def test_constants_of_neighbours_become_one() -> None:
    text = "g (float[2, 3] x, float[3] m, float[3] s) => (float[2, 3] y) { a = Sub(x, m) b = Sub(a, s) y = Add(b, m) }"
    constants = {"m": np.float32([0.1, 0.2, 0.3]), "s": np.float32([1, 2, 3])}
    assert ops_of(checked(model(text, constants), 1e-6)) == ["add"]
    assert ops_of(checked(model(text.replace("Sub", "Div").replace("Add", "Mul"), constants), 1e-6)) == ["mul"]


@pytest.mark.parametrize(
    "body",
    [
        "a = Mul(x, m) b = Add(a, m) y = Mul(b, m)",
        "a = Div(m, x) y = Mul(a, m)",
        "a = Add(x, m) b = Relu(a) y = Add(b, m)",
    ],
)
def test_constants_that_stay_apart(body: str) -> None:
    text = f"g (float[2, 3] x, float[3] m) => (float[2, 3] y) {{ {body} }}"
    assert len(checked(model(text, {"m": np.float32([0.5, 0.2, 0.3])}), 1e-6, 0.5, 4.0).nodes) >= 2


def test_constants_that_together_overflow_stay_apart() -> None:
    text = "g (float[2, 3] x, float[1] m) => (float[2, 3] y) { a = Mul(x, m) y = Mul(a, m) }"
    graph = checked(model(text, {"m": np.float32([1e25])}), 1e-6, 1e-35, 1e-34)
    assert ops_of(graph) == ["mul", "mul"]


def test_a_constant_that_would_make_the_result_larger_stays() -> None:
    text = "g (float[1, 3] x, float[2, 3] m) => (float[2, 3] y) { a = Add(x, m) y = Add(a, m) }"
    constants = {"m": np.float32([[1, 2, 3], [4, 5, 6]])}
    assert ops_of(checked(model(text, constants), 1e-6)) == ["add", "add"]


def test_an_operand_is_not_repeated() -> None:
    text = """g (float[4, 8] x, int64[2] shape) => (float[4, 8] y) {
        n = ReduceL2 <axes = [-1], keepdims = 1> (x)  e = Expand(n, shape)  y = Div(x, e) }"""
    graph = checked(model(text, {"shape": np.array([4, 8])}), 1e-6)
    assert "expand" not in ops_of(graph)


def test_an_operand_that_makes_the_shape_is_repeated() -> None:
    text = """g (float[4, 1] x, float[1, 1] z, int64[2] shape) => (float[4, 8] y) {
        e = Expand(x, shape)  y = Div(e, z) }"""
    graph = checked(model(text, {"shape": np.array([4, 8])}), 1e-6, 1.0, 2.0)
    assert graph.outputs[0].shape == (4, 8)


@pytest.mark.parametrize("keep", ["2, 5, 1", "2, 1, 5"])
def test_a_variance_whose_dimension_comes_back(keep: str) -> None:
    """As the newer exporter of torch writes it; another shape is another formula."""
    text = """g (float[2, 5, 8] x, float[1] epsilon, int64[3] shape) => (float[2, 5, 8] y) {
        m = ReduceMean <axes = [-1], keepdims = 1> (x)  c = Sub(x, m)  s = Mul(c, c)
        v = ReduceMean <axes = [-1], keepdims = 0> (s)  r = Reshape(v, shape)  a = Add(r, epsilon)
        d = Sqrt(a)  y = Div(c, d) }"""
    if keep == "2, 1, 5":
        text = text.replace("[2, 5, 8] x", "[2, 5, 5] x").replace("[2, 5, 8] y", "[2, 5, 5] y")
    shape = np.array([int(size) for size in keep.split(",")])
    graph = checked(model(text, {"epsilon": np.float32([1e-5]), "shape": shape}), 1e-6)
    assert ("layer_norm" in ops_of(graph)) is (keep == "2, 5, 1")


# Padding.


def pooled(pad: str, first: str, kernel: int = 3) -> str:
    return f"""g (float[1, 2, 6, 6] x, int64[8] pads, float[1] value) => (float[1, 2, n, n] y) {{
        r = {first}(x)  p = Pad(r, pads, value)
        y = MaxPool <kernel_shape = [{kernel}, {kernel}], strides = [2, 2]> (p) }}"""


@pytest.mark.parametrize(
    ("first", "value", "amount", "folds"),
    [
        ("Relu", 0.0, 1, True),
        ("Sigmoid", 0.0, 1, True),
        ("Neg", 0.0, 1, False),
        ("Relu", 1.0, 1, False),
        ("Relu", 0.0, 3, False),
        ("Neg", -np.inf, 1, True),
    ],
)
def test_a_border_of_zeros_in_front_of_a_max_pool(first: str, value: float, amount: int, folds: bool) -> None:
    """It is the pool's own where nothing is negative and each window has an element."""
    pads = np.array([0, 0, 0, 0, 0, 0, amount, amount])
    graph = checked(model(pooled("", first), {"pads": pads, "value": np.float32([value])}), 1e-6)
    assert ("pad" not in ops_of(graph)) is folds


@pytest.mark.parametrize(("pads", "folds"), [([0, 0, 2, 0, 0, 0], True), ([0, 1, 2, 0, 0, 0], False)])
def test_a_border_of_a_convolution_in_one_dimension(pads: list[int], folds: bool) -> None:
    channels = 3 + pads[1]
    text = f"""g (float[1, 3, 8] x, int64[6] pads, float[4, {channels}, 3] w) => (float[1, 4, 8] y) {{
        p = Pad(x, pads)  y = Conv(p, w) }}"""
    w = np.random.default_rng(0).standard_normal((4, channels, 3)).astype(np.float32)
    graph = checked(model(text, {"pads": np.array(pads), "w": w}), 1e-5)
    assert ("pad" not in ops_of(graph)) is folds


# Sizes that are known at run time only.


def test_transposes_around_a_convolution_of_unknown_length() -> None:
    """Channels come last in the model, and the convolution wants them last: nothing is left to transpose."""
    text = """g (float[1, n, 3] x, float[4, 3, 3] w, float[4, 4, 3] v) => (float[1, n, 4] y) {
        a = Transpose <perm = [0, 2, 1]> (x)  b = Conv <pads = [1, 1]> (a, w)  c = Relu(b)
        d = Conv <pads = [1, 1]> (c, v)  y = Transpose <perm = [0, 2, 1]> (d) }"""
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((4, 3, 3)), "v": rng.standard_normal((4, 4, 3))}
    graph = checked(model(text, {name: array.astype(np.float32) for name, array in weights.items()}), 1e-5)
    assert not {"transpose"} & set(ops_of(graph)) and ops_of(graph).count("conv2d") == 2


# Rotary positions.

LENGTH, SIZE = 6, 8


def angles(batch: int = 1) -> Constants:
    turn = np.outer(np.arange(LENGTH), 1 / 100 ** (np.arange(0, SIZE, 2) / SIZE))
    both = np.concatenate([turn, turn], -1).reshape(1, 1, LENGTH, SIZE)
    return {"cos": np.cos(both).astype(np.float32), "sin": np.sin(both).astype(np.float32)}


def halves(batch: int = 1, first: int = 4, negate: str = "Neg", extra: str = "", outputs: str = "") -> str:
    return f"""g (float[{batch}, 2, 6, 8] x, float[1, 1, 6, 8] cos, float[1, 1, 6, 8] sin)
      => (float[{batch}, 2, 6, 8] y{outputs})
      <int64[2] parts = {{{first}, {8 - first}}}> {{
        a, b = Split <axis = -1> (x, parts)  n = {negate}(b)  t = Concat <axis = -1> (n, a)
        c = Mul(x, cos)  s = Mul(t, sin)  y = Add(c, s) {extra} }}"""


@pytest.mark.parametrize("batch", [1, 3])
def test_rotary_halves(batch: int) -> None:
    assert ops_of(checked(model(halves(batch), angles()), 1e-6)) == ["rotary_embedding"]


def test_rotary_halves_that_are_something_else() -> None:
    assert "rotary_embedding" not in ops_of(checked(model(halves(first=3), angles()), 1e-6))
    assert "rotary_embedding" not in ops_of(checked(model(halves(negate="Abs"), angles()), 1e-6))
    uneven = {name: array + np.linspace(0, 1, SIZE, dtype=np.float32) for name, array in angles().items()}
    assert "rotary_embedding" not in ops_of(checked(model(halves(), uneven), 1e-6))
    shared = halves(outputs=", float[1, 2, 6, 8] t")
    assert "rotary_embedding" not in ops_of(checked(model(shared, angles()), 1e-6))


def test_rotary_halves_at_computed_positions() -> None:
    text = """g (float[2, 4, 6, 8] x, float[2, 6, 1] p, float[4] f, int64[1] one) => (float[2, 4, 6, 8] y)
      <int64[2] parts = {4, 4}> {
        e = Mul(p, f)  ee = Concat <axis = -1> (e, e)  c3 = Cos(ee)  s3 = Sin(ee)
        cos = Unsqueeze(c3, one)  sin = Unsqueeze(s3, one)
        a, b = Split <axis = -1> (x, parts)  n = Neg(b)  t = Concat <axis = -1> (n, a)
        c = Mul(x, cos)  s = Mul(t, sin)  y = Add(c, s) }"""
    constants = {"f": np.float32([1, 0.3, 0.1, 0.03]), "one": np.array([1])}
    graph = checked(model(text, constants), 1e-5)
    assert ops_of(graph).count("rotary_embedding") == 1 and "concat" not in ops_of(graph)


def neighbours(minus: str = "Sub", odd: int = 1) -> str:
    return f"""g (float[1, 2, 6, 8] x, float[1, 1, 6, 4] cos, float[1, 1, 6, 4] sin) => (float[1, 2, 6, 8] y)
      <int64[1] zero = {{0}}, int64[1] start = {{{odd}}}, int64[1] end = {{8}}, int64[1] axis = {{3}},
       int64[1] step = {{2}}, int64[1] last = {{4}}, int64[4] shape = {{1, 2, 6, 8}}> {{
        a = Slice(x, zero, end, axis, step)  b = Slice(x, start, end, axis, step)
        ac = Mul(a, cos)  bs = Mul(b, sin)  as = Mul(a, sin)  bc = Mul(b, cos)
        u = {minus}(ac, bs)  v = Add(as, bc)  u5 = Unsqueeze(u, last)  v5 = Unsqueeze(v, last)
        w = Concat <axis = -1> (u5, v5)  y = Reshape(w, shape) }}"""


def test_rotary_neighbours() -> None:
    constants = {name: array[..., :4].copy() for name, array in angles().items()}
    assert ops_of(checked(model(neighbours(), constants), 1e-6)) == ["rotary_embedding"]
    assert "rotary_embedding" not in ops_of(checked(model(neighbours(minus="Add"), constants), 1e-6))
    assert "rotary_embedding" not in ops_of(checked(model(neighbours(odd=0), constants), 1e-6))


# Attention.


def attention(
    scores: str, inputs: str = "", shape: str = "2, 4, 6, 8", outputs: str = "", kt: str = "0, 1, 3, 2"
) -> str:
    return f"""g (float[{shape}] q, float[{shape}] k, float[{shape}] v{inputs}) => (float[{shape}] y{outputs}) {{
        t = Transpose <perm = [{kt}]> (k)  m = MatMul(q, t) {number("scale", 0.35)} z = Mul(m, scale)
        {scores}  p = Softmax <axis = -1> (s)  y = MatMul(p, v) }}"""


HIDDEN = ", bool[2, 1, 6, 6] c"
MASKS = {
    "minus infinity where hidden": (number("low", -1e30) + "n = Not(c) s = Where(n, low, z)", HIDDEN),
    "kept where shown": (number("low", -3.4e38) + "s = Where(c, z, low)", HIDDEN),
    "summand": ("s = Add(z, c)", ", float[2, 1, 6, 6] c"),
}


@pytest.mark.parametrize("name", MASKS)
def test_attention_with_masks(name: str) -> None:
    scores, inputs = MASKS[name]
    graph = checked(model(attention(scores, inputs)), 1e-5)
    assert ops_of(graph).count("attention") == 1 and not {"softmax", "matmul"} & set(ops_of(graph))


def test_attention_hidden_by_minus_infinity() -> None:
    """Text cannot spell an infinity, so it comes as a constant."""
    text = attention("s = Where(c, z, low)", HIDDEN + ", float[1] low")
    assert "attention" in ops_of(checked(model(text, {"low": np.float32([-np.inf])}), 1e-5))


@pytest.mark.parametrize(
    "scores",
    [
        number("low", -1e9) + "s = Where(c, z, low)",  # not far enough below for rows that are hidden as a whole
        number("low", -1e9) + "b = Add(z, z) s = Where(c, b, z)",  # no number at all
        number("low", -1e9) + "w = Where(c, z, low) s = Add(w, z)",
    ],
)
def test_scores_that_are_no_masks(scores: str) -> None:
    assert "attention" not in ops_of(checked(model(attention(scores, HIDDEN)), 1e-5))


def test_attention_with_shared_weights_stays() -> None:
    text = attention("s = Identity(z)", outputs=", float[2, 4, 6, 6] p")
    assert "attention" not in ops_of(checked(model(text), 1e-5))


@pytest.mark.parametrize("masked", [False, True])
def test_attention_in_three_dimensions(masked: bool) -> None:
    scores, inputs = ("s = Add(z, c)", ", float[1, 6, 6] c") if masked else ("s = Identity(z)", "")
    graph = checked(model(attention(scores, inputs, shape="8, 6, 8", kt="0, 2, 1")), 1e-5)
    assert [op for op in ops_of(graph) if op != "reshape"] == ["attention"]


@pytest.mark.parametrize("repeat", ["Expand", "Tile"])
def test_attention_with_repeated_heads(repeat: str) -> None:
    text = f"""g (float[2, 4, 6, 8] q, float[2, 2, 6, 8] k, float[2, 2, 6, 8] v, int64[5] by) => (float[2, 4, 6, 8] y)
      <int64[5] split = {{2, 2, 1, 6, 8}}, int64[4] merge = {{2, 4, 6, 8}}> {{
        k1 = Reshape(k, split)  k2 = {repeat}(k1, by)  k3 = Reshape(k2, merge)
        v1 = Reshape(v, split)  v2 = {repeat}(v1, by)  v3 = Reshape(v2, merge)
        t = Transpose <perm = [0, 1, 3, 2]> (k3)  m = MatMul(q, t)  p = Softmax <axis = -1> (m)  y = MatMul(p, v3) }}"""
    by = np.array([2, 2, 2, 6, 8] if repeat == "Expand" else [1, 1, 2, 1, 1])
    assert ops_of(checked(model(text, {"by": by}), 1e-5)) == ["attention"]


def test_heads_that_are_repeated_in_another_order() -> None:
    """Tiled as a whole, head 2 of q reads head 0: not what the op does."""
    text = """g (float[2, 4, 6, 8] q, float[2, 2, 6, 8] k, float[2, 2, 6, 8] v, int64[4] by) => (float[2, 4, 6, 8] y) {
        k3 = Tile(k, by)  v3 = Tile(v, by)
        t = Transpose <perm = [0, 1, 3, 2]> (k3)  m = MatMul(q, t)  p = Softmax <axis = -1> (m)  y = MatMul(p, v3) }"""
    graph = checked(model(text, {"by": np.array([1, 2, 1, 1])}), 1e-5)
    assert ops_of(graph).count("tile") == 2


def test_shifted_windows() -> None:
    """A bias for each head, then a mask for each window, with windows and batch taken apart and together again."""
    text = """g (float[4, 2, 6, 8] q, float[4, 2, 6, 8] k, float[4, 2, 6, 8] v, float[1, 2, 6, 6] bias,
               float[1, 2, 1, 6, 6] mask) => (float[4, 2, 6, 8] y)
      <int64[5] split = {2, 2, 2, 6, 6}, int64[4] merge = {4, 2, 6, 6}> {
        t = Transpose <perm = [0, 1, 3, 2]> (k)  m = MatMul(q, t)  b = Add(m, bias)
        w = Reshape(b, split)  x = Add(w, mask)  s = Reshape(x, merge)
        p = Softmax <axis = -1> (s)  y = MatMul(p, v) }"""
    rng = np.random.default_rng(5)
    constants = {
        "bias": rng.standard_normal((1, 2, 6, 6)).astype(np.float32),
        "mask": np.where(rng.random((1, 2, 1, 6, 6)) < 0.3, np.float32(-100), np.float32(0)),
    }
    assert ops_of(checked(model(text, constants), 1e-5)) == ["attention"]


# Whole modules, from both exporters of torch.


def _modules() -> dict[str, tuple[Any, Sequence[tuple[int, ...]], set[str]]]:
    """Modules, the shapes of their inputs, and the ops that may be left besides reshapes."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    nn, functional = torch.nn, torch.nn.functional

    class Function(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, function: Any) -> None:
            super().__init__()
            self.function = function

        def forward(self, *inputs: Any) -> Any:
            return self.function(*inputs)

    class Attention(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, weights: bool) -> None:
            super().__init__()
            self.inner = nn.MultiheadAttention(16, 4, batch_first=True)
            self.weights = weights

        def forward(self, x: Any) -> Any:
            return self.inner(x, x, x, need_weights=self.weights)[0]

    def rms(x: Any) -> Any:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    def norm_2d(x: Any) -> Any:
        mean = x.mean(1, keepdim=True)
        return (x - mean) / torch.sqrt((x - mean).pow(2).mean(1, keepdim=True) + 1e-6)

    def grouped(q: Any, k: Any, v: Any) -> Any:
        return functional.scaled_dot_product_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))

    heads = [(2, 4, 6, 8)] * 3
    return {
        "gelu": (Function(functional.gelu), [(2, 8)], {"gelu"}),
        "gelu tanh": (Function(lambda x: functional.gelu(x, approximate="tanh")), [(2, 8)], {"gelu"}),
        "quick gelu": (Function(lambda x: x * torch.sigmoid(1.702 * x)), [(2, 8)], {"swish"}),
        "hardswish": (Function(functional.hardswish), [(2, 8)], {"hard_swish"}),
        "silu": (Function(functional.silu), [(2, 8)], {"silu"}),
        "mish": (Function(functional.mish), [(2, 8)], {"mish"}),
        "layer norm": (nn.LayerNorm(8), [(2, 5, 8)], {"layer_norm"}),
        "layer norm by hand": (
            Function(
                lambda x: (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5)
            ),
            [(2, 5, 8)],
            {"layer_norm"},
        ),
        "layer norm of channels": (
            nn.Sequential(nn.Conv2d(4, 8, 3), Function(norm_2d), nn.Conv2d(8, 4, 1)),
            [(1, 4, 6, 6)],
            {"conv2d", "layer_norm", "transpose"},
        ),
        "rms norm": (Function(rms), [(2, 5, 8)], {"rms_norm"}),
        "group norm": (nn.GroupNorm(2, 8), [(2, 8, 4, 4)], {"group_norm", "transpose"}),
        "instance norm": (nn.InstanceNorm2d(8, affine=True), [(2, 8, 4, 4)], {"group_norm", "transpose"}),
        "attention": (Function(functional.scaled_dot_product_attention), heads, {"attention"}),
        "causal attention": (
            Function(lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True)),
            heads,
            {"attention"},
        ),
        "grouped attention": (Function(grouped), [(2, 4, 6, 8), (2, 2, 6, 8), (2, 2, 6, 8)], {"attention"}),
        "multi-head attention": (Attention(False), [(1, 6, 16)], {"attention", "dense", "slice"}),
        "multi-head attention, the other path": (
            Attention(True),
            [(1, 6, 16)],
            {"attention", "dense", "slice", "mul"},
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("dynamo", [False, True])
def test_modules_of_torch(dynamo: bool) -> None:
    import io

    torch = pytest.importorskip("torch", reason="torch is not installed")
    wrong = {}
    for name, (module, shapes, allowed) in _modules().items():
        arguments = tuple(torch.randn(shape) for shape in shapes)
        if dynamo:
            program = torch.onnx.export(module.eval(), arguments, dynamo=True, verbose=False)
            proto = program.model_proto
        else:
            file = io.BytesIO()
            torch.onnx.export(module.eval(), arguments, file, dynamo=False, opset_version=17, verbose=False)
            proto = onnx.load_from_string(file.getvalue())
        left = set(ops_of(checked(proto, 1e-5))) - allowed - {"reshape"}
        if left:
            wrong[name] = left
    assert not wrong
