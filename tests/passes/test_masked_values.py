"""One value where a mask holds, as exporters write ``x[mask] = value``: a choice, whose shape is known."""

from __future__ import annotations

import pytest
from exporter_models import checked, model, ops_of


def masked(shape: str = "3, 6", of: str = "x", updates: str = "v", extra: str = "", perm: str = "1, 0") -> str:
    """Updates: ``v``, the number 2, repeated for each position, unless it says otherwise."""
    return f"""g (float[{shape}] x{extra}) => (float[{shape}] y)
      <float[1] limit = {{0.3}}, float two = {{2}}, int64[1] one = {{-1}}, int64[1] last = {{2}}> {{
        c = Greater({of}, limit)  p = NonZero(c)  t = Transpose <perm = [{perm}]> (p)
        flat = Reshape(c, one)  n = Cast <to = 7> (flat)  count = ReduceSum(n)
        e = Expand(two, count)  v = Reshape(e, one)
        y = ScatterND(x, t, {updates}) }}"""


@pytest.mark.parametrize("shape", ["3, 6", "n, 6", "n, m", "5", "2, 3, 4"])
def test_a_number_where_a_mask_holds(shape: str) -> None:
    graph = checked(model(masked(shape)), 0.0)
    assert set(ops_of(graph)) == {"greater", "where"}
    assert graph.outputs[0].shape == graph.inputs[0].shape


def test_a_mask_of_the_first_dimensions() -> None:
    """Rows are replaced as a whole: each of their elements by the same number."""
    text = masked("3, 4, 5", of="m", updates="w", extra=", float[3, 4] m").replace(
        "y = Scatter", "k = Unsqueeze(v, last1)  r = Concat <axis = 0> (count, five)  w = Expand(k, r)  y = Scatter"
    )
    text = text.replace("int64[1] last = {2}", "int64[1] last1 = {1}, int64[1] five = {5}")
    graph = checked(model(text), 0.0)
    assert set(ops_of(graph)) - {"reshape", "unsqueeze"} == {"greater", "where"}


def test_values_of_their_own_stay() -> None:
    """Each position has another value, so their number matters."""
    text = masked(updates="w").replace("y = Scatter", "w = CumSum(v, first)  y = Scatter")
    text = text.replace("float two = {2}", "float two = {2}, int64 first = {0}")
    assert "scatter_nd" in ops_of(checked(model(text), 0.0))


def test_sums_at_positions_stay() -> None:
    text = masked().replace("ScatterND(x", 'ScatterND <reduction = "add"> (x')
    assert "scatter_nd" in ops_of(checked(model(text, opset=18), 0.0))


def test_a_mask_of_another_tensor_of_the_same_shape() -> None:
    graph = checked(model(masked(of="m", extra=", float[3, 6] m")), 0.0)
    assert set(ops_of(graph)) == {"greater", "where"}


def test_a_mask_that_is_smaller_stays() -> None:
    """Positions of a part of x are no mask of x."""
    text = masked("4, 6", of="m", extra=", float[3, 6] m")
    assert "scatter_nd" in ops_of(checked(model(text), 0.0))
