"""Expressions over sizes: each is evaluated for every size and held against the numbers that it stands for."""

from __future__ import annotations

import re

import numpy as np
import pytest

from microlith.codegen.formulas import Formulas


def formulas(*ranges: tuple[str, int, int]) -> Formulas:
    numbers = iter(range(1000))
    return Formulas(
        names=[name for name, _, _ in ranges],
        lows=[low for _, low, _ in ranges],
        grid=tuple(high - low + 1 for _, low, high in ranges),
        table_name=lambda: f"table_{next(numbers)}",
    )


def value(text: str, found: Formulas, sizes: dict[str, int]) -> int:
    """What C makes of an expression, whose operands of ``/`` and ``%`` are never negative."""
    tables = {name: entries.tolist() for name, entries in found.tables.values()}
    return int(eval(_in_python(text).replace("/", "//"), {**sizes, **tables}))


def _in_python(text: str) -> str:
    """A C expression in Python, where ``?`` binds less than all else within its parentheses."""
    inner: list[str] = []
    while (found := re.search(r"\(([^()]*)\)", text)) is not None:
        inner.append(_choice(found[1]))
        text = f"{text[: found.start()]}@{len(inner) - 1}@{text[found.end() :]}"
    text = _choice(text)
    for place in reversed(range(len(inner))):
        text = text.replace(f"@{place}@", f"({inner[place]})")
    return text


def _choice(text: str) -> str:
    found = re.fullmatch(r"(.*?) \? (.*?) : (.*)", text)
    return text if found is None else f"({found[2]}) if ({found[1]}) else ({found[3]})"


N = np.arange(1, 129)
ONE_SIZE = {
    "n": N,
    "64 * n": 64 * N,
    "(n + 1) / 2": (N + 1) // 2,
    "64 * ((n + 1) / 2)": 64 * ((N + 1) // 2),
    "12 * n * n": 12 * N * N,
    "5 - n": 5 - N,
    "(2 * n + 1) / 3": (2 * N + 1) // 3,
    "n < 3 ? 0 : n - 3": np.maximum(N - 3, 0),
    "n < 10 ? n : 10": np.minimum(N, 10),
    "n < 2 ? 1 : 64": np.where(N == 1, 1, 64),
    "table_0[n % 3]": np.where(N % 3 == 0, 2, 5),
    "table_0[n - 1]": (N * 7919) % 101,
    "7": np.full(128, 7),
}


@pytest.mark.parametrize("text", ONE_SIZE)
def test_one_size(text: str) -> None:
    found = formulas(("n", 1, 128))
    column = ONE_SIZE[text]
    assert found.text(column) == text
    assert [value(text, found, {"n": n}) for n in N.tolist()] == column.tolist()


def test_products_of_sizes_that_are_known() -> None:
    found = formulas(("n", 1, 128))
    half, quarter = (N + 1) // 2, (N + 3) // 4
    found.note(half)
    found.note(quarter)
    text = found.text(3 * half * quarter)
    assert [value(text, found, {"n": n}) for n in N.tolist()] == (3 * half * quarter).tolist()
    assert "table" not in text


def test_two_sizes() -> None:
    found = formulas(("h", 1, 20), ("w", 3, 32))
    h, w = (grid.reshape(-1) for grid in np.meshgrid(np.arange(1, 21), np.arange(3, 33), indexing="ij"))
    columns = [h * w, 16 * ((h + 1) // 2) * (w // 2), h + w, 8 * h + (w + 1) // 2, (h + 1) // 2, w, np.maximum(h, w)]
    for column in columns:
        text = found.text(column)
        got = [value(text, found, {"h": a, "w": b}) for a, b in zip(h.tolist(), w.tolist(), strict=True)]
        assert got == column.tolist(), text
    assert len(found.tables) == 1  # the maximum follows no form


def test_sums_of_pieces() -> None:
    """Each part of a sum has one form for small sizes and another one for large ones."""
    found = formulas(("h", 1, 20), ("w", 3, 32), ("n", 1, 9))
    grids = np.meshgrid(np.arange(1, 21), np.arange(3, 33), np.arange(1, 10), indexing="ij")
    h, w, n = (grid.reshape(-1) for grid in grids)
    pieces = [np.maximum(h - 2, 0), np.minimum(w, 9), np.where(n < 5, 3, n)]
    for column in (pieces[0] + pieces[1], pieces[1] + pieces[2], sum(pieces), pieces[0] + w, h + pieces[2]):
        text = found.text(column)
        got = [value(text, found, {"h": a, "w": b, "n": c}) for a, b, c in zip(h, w, n, strict=True)]
        assert got == column.tolist(), text
    assert not found.tables


def test_random_columns_are_exact() -> None:
    """Whatever the numbers are, the expression gives them."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        low = int(rng.integers(1, 9))
        count = int(rng.integers(2, 40))
        found = formulas(("n", low, low + count - 1))
        n = np.arange(low, low + count)
        a, b, c, d = (int(number) for number in rng.integers(-9, 10, 4))
        kinds = [a * n + b, (abs(a) * n + abs(b)) // (abs(c) + 1) + d, a * n * n + b * n + c, np.maximum(a * n + b, c)]
        column = kinds[int(rng.integers(4))]
        text = found.text(column)
        assert [value(text, found, {"n": size}) for size in n.tolist()] == column.tolist(), text


def test_no_step_passes_32_bits() -> None:
    found = formulas(("n", 1, 4))
    column = np.array([1, 2, 3, 4]) * 300_000_000
    assert found.text(column) == "300000000 * n"
    beyond = (np.array([1, 2, 3, 4]) * 2_000_000_001) // 4  # in range, but 2000000001 * n is not
    text = found.text(beyond)
    assert [value(text, found, {"n": n}) for n in (1, 2, 3, 4)] == beyond.tolist()
    assert "2000000001" not in text


MULTIPLES = np.arange(32, 641, 32)
IN_STEPS = {
    "h": MULTIPLES,
    "h / 32": MULTIPLES // 32,
    "3 * (h / 4) + 1": 3 * (MULTIPLES // 4) + 1,
    "5 - h / 32": 5 - MULTIPLES // 32,
    "(h + 32) / 64": (MULTIPLES // 32 + 1) // 2,
    "64 * h * h": 64 * MULTIPLES * MULTIPLES,
    "h < 96 ? h : 96": np.minimum(MULTIPLES, 96),
    "table_0[(h - 32) / 32]": (MULTIPLES // 32) ** 3 * 7919 % 101,
    "table_0[(h - 32) / 32 % 3]": np.array([4, 9, 2] * 7)[: MULTIPLES.size],
}


@pytest.mark.parametrize("expected", IN_STEPS)
def test_sizes_in_steps(expected: str) -> None:
    """Only every 32nd size occurs: parts of it are whole numbers, and tables have an entry for each that occurs."""
    numbers = IN_STEPS[expected]
    found = Formulas(["h"], [32], (MULTIPLES.size,), lambda: "table_0", steps=[32])
    text = found.text(numbers)
    assert [value(text, found, {"h": int(h)}) for h in MULTIPLES] == numbers.tolist()
    assert text == expected


def test_two_sizes_in_steps() -> None:
    grid = np.arange(16, 65, 16)[:, None], np.arange(3, 12, 2)[None]
    columns = [grid[0] // 8 * grid[1], grid[0] + 2 * grid[1], (grid[0] * 7919 + grid[1] * 31) % 101]
    found = Formulas(["h", "w"], [16, 3], (4, 5), lambda: "table_0", steps=[16, 2])
    for numbers in columns:
        text = found.text(numbers.reshape(-1))
        values = [[value(text, found, {"h": h, "w": w}) for w in grid[1][0].tolist()] for h in grid[0][:, 0].tolist()]
        assert values == numbers.tolist(), text
