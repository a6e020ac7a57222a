"""Calibration data: every source gives the same feeds, and what does not fit is said."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from microlith.converter import convert
from microlith.converter.quantize import QuantizeOptions, QuantReport
from microlith.converter.quantize.calibration_data import CalibrationError, open_calibration
from microlith.converter.quantize.images import ImageOptions, read_image
from microlith.converter.quantize.labels import load_labels
from microlith.dtypes import DType
from microlith.errors import InputError
from microlith.ir import Graph, TensorType, Value

from . import onnx_nets

X = np.arange(5 * 2 * 3, dtype=np.float32).reshape(5, 2, 3)


def graph_of(**shapes: tuple[int | str, ...]) -> Graph:
    graph = Graph()
    graph.inputs = [Value(name, TensorType(DType.f32, shape)) for name, shape in shapes.items()]
    return graph


ONE = graph_of(x=(1, 2, 3))


def feeds(source: object, graph: Graph = ONE, **options: object) -> list[np.ndarray]:
    return [feed["x"] for feed in open_calibration(source, graph, **options)]  # type: ignore[arg-type]


def assert_all(found: list[np.ndarray]) -> None:
    assert [array.shape for array in found] == [(1, 2, 3)] * 5
    np.testing.assert_array_equal(np.concatenate(found), X)


def write_npy_folder(path: Path) -> Path:
    path.mkdir()
    for number, sample in enumerate(X):
        np.save(path / f"{number}.npy", sample if number % 2 else sample[None])
    return path


def write_raw_folder(path: Path) -> Path:
    path.mkdir()
    X[:2].tofile(path / "0.bin")
    X[2:].tofile(path / "1.raw")
    return path


def write_npz(path: Path) -> Path:
    file = path.with_suffix(".npz")
    np.savez_compressed(file, x=X)
    return file


@pytest.mark.parametrize("write", [write_npy_folder, write_raw_folder, write_npz])
def test_files(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    source = write(tmp_path / "data")
    data = open_calibration(source, ONE)
    assert_all([feed["x"] for feed in data])
    assert_all([feed["x"] for feed in data])  # a set can be read again
    assert len(feeds(source, limit=3)) == 3


def test_npz_is_read_piece_by_piece(tmp_path: Path) -> None:
    file = tmp_path / "many.npz"
    np.savez(file, x=np.zeros((1000, 2, 3), np.float32))
    sizes = [len(arrays["x"]) for _, arrays in open_calibration(file, ONE).blocks()]
    assert max(sizes) <= 16 and sum(sizes) == 1000


def test_fortran_order(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", x=np.asfortranarray(X))
    assert_all(feeds(tmp_path / "f.npz"))


def test_functions_and_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_all(feeds(list(X)))
    assert_all(feeds(lambda: ({"x": sample} for sample in X)))
    (tmp_path / "samples_module.py").write_text(
        "import numpy as np\n"
        "def good():\n    yield from np.arange(30, dtype=np.float32).reshape(5, 2, 3)\n"
        "def bad():\n    yield np.zeros((2, 3), np.float32)\n    raise OSError('disk gone')\n"
        "def wants(argument):\n    return []\n"
    )
    monkeypatch.chdir(tmp_path)
    assert_all(feeds("samples_module:good"))
    with pytest.raises(CalibrationError, match=r"samples_module:bad\[1\]: fails: OSError: disk gone"):
        feeds("samples_module:bad")
    with pytest.raises(CalibrationError, match="wants arguments"):
        feeds("samples_module:wants")
    with pytest.raises(CalibrationError, match=r"no function 'missing'\n.*it has good, bad, wants"):
        feeds("samples_module:missing")
    (tmp_path / "wants_module.py").write_text("import no_such_package.part\n")
    for name, words in (
        (
            "no_such_module:f",
            rf"cannot import 'no_such_module'.*\n.*no no_such_module.py in {re.escape(str(tmp_path))}",
        ),
        ("samples_module.py:good", r"cannot import.*\n.*without .py, as in samples_module:function"),
        ("wants_module:f", r"\n.*'wants_module' was found and wants 'no_such_package'"),
        (f"{tmp_path}/samples_module.py:good", r"no such file.*\n.*named by its module, as in samples:function"),
    ):
        with pytest.raises(CalibrationError, match=f"(?s){words}"):
            feeds(name)


def test_what_a_generator_yields_for_one_input() -> None:
    """An array, or a tuple or list with just that; a sample with its label, or twice, is two arrays for one input."""
    for form in (lambda x: x, lambda x: (x,), lambda x: [x], lambda x: x.tolist(), lambda x: {"x": x.tolist()}):
        found = feeds(lambda form=form: (form(x.astype(np.float64)) for x in X))
        np.testing.assert_array_equal(np.concatenate(found), X)
    for pair in (lambda x: (x, x), lambda x: (x, 7), lambda x: [x, x], lambda x: (x.tolist(), x.tolist())):
        with pytest.raises(
            CalibrationError, match=r"(?s)\[0\]: has 2 arrays, the model has 1 input: x.*without labels"
        ):
            feeds(lambda pair=pair: (pair(x) for x in X))
    for one in (np.arange(3.0), (0.0, 1.0, 2.0), [0.0, 1.0, 2.0]):
        row = graph_of(x=(1, 3))
        np.testing.assert_array_equal(feeds(lambda one=one: iter([one]), row)[0], [[0.0, 1.0, 2.0]])
    np.testing.assert_array_equal(feeds(lambda: np.arange(3.0), graph_of(x=(1, 3)))[0], [[0.0, 1.0, 2.0]])
    two = graph_of(x=(1, 3), y=(1, 3))
    with pytest.raises(CalibrationError, match="no data for input 'y'"):
        list(open_calibration(lambda: iter([np.zeros(3, np.float32)]), two))
    with pytest.raises(CalibrationError, match="has 3 arrays, the model has 2 inputs: x, y"):
        list(open_calibration(lambda: iter([(X[0], X[0], 1)]), two))


def test_an_empty_name_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_npy_folder(tmp_path / "data")
    monkeypatch.chdir(tmp_path / "data")
    assert_all(feeds("."))
    for name in ("", " "):
        with pytest.raises(CalibrationError, match="the name of the data is empty"):
            feeds(name)


def test_open_batches_are_filled() -> None:
    found = feeds([np.zeros((40, 2, 3), np.float32)], graph_of(x=("batch", 2, 3)))
    assert [len(array) for array in found] == [16, 16, 8]


def test_several_inputs(tmp_path: Path) -> None:
    graph = graph_of(x=(1, 3), mask=(1, 2))
    for name, size in (("x", 3), ("mask", 2)):
        (tmp_path / name).mkdir()
        for number in range(3):
            np.save(tmp_path / name / f"{number}.npy", np.full((1, size), number, np.float32))
    found = list(open_calibration(tmp_path, graph))
    assert [(feed["x"].shape, feed["mask"].shape, feed["mask"][0, 0]) for feed in found] == [
        ((1, 3), (1, 2), float(number)) for number in range(3)
    ]
    (tmp_path / "mask" / "2.npy").unlink()
    with pytest.raises(CalibrationError, match="holds 2 files, 'x' 3"):
        list(open_calibration(tmp_path, graph))


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (np.zeros((2, 4), np.float32), r"input 'x' has shape \[2,4\], the model wants \[1,2,3\]"),
        (np.zeros((2, 3), np.uint8), "input 'x' is uint8, the model wants float32"),
        (np.full((2, 3), np.nan, np.float32), r"holds NaN at \[0, 0\]"),
        (np.where(np.eye(2, 3) > 0, np.inf, 0).astype(np.float32), r"holds infinity at \[0, 0\]"),
    ],
)
def test_samples_that_do_not_fit(sample: np.ndarray, words: str) -> None:
    with pytest.raises(CalibrationError, match=words):
        feeds([np.ones((2, 3), np.float32), sample])


def test_the_place_of_nan_counts_in_the_whole_array(tmp_path: Path) -> None:
    """In .npz files, which are read in blocks, in .npy files, and where the model takes several samples at once."""
    x = np.zeros((37, 2, 3), np.float32)
    x[35, 1, 2] = np.nan
    np.savez(tmp_path / "x.npz", x=x)
    np.save(tmp_path / "x.npy", x)
    for size in (1, "batch"):
        for source in (tmp_path / "x.npz", tmp_path / "x.npy"):
            with pytest.raises(CalibrationError, match=r"holds NaN at \[35, 1, 2\]"):
                feeds(source, graph_of(x=(size, 2, 3)))
    with pytest.raises(CalibrationError, match="takes 4 samples at a time and there are 37"):
        feeds(tmp_path / "x.npz", graph_of(x=(4, 2, 3)))
    assert len(feeds(tmp_path / "x.npz", limit=35)) == 35


def _fails() -> list[np.ndarray]:
    raise OSError("the disk is gone")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda: None, "(?s)the function returned None, no samples.*`yield`"),
        (lambda: 7, "the function returned 7 of type int"),
        (lambda: np.float32(1), "the function returned .*float32"),
        (lambda: "text", "the function returned 'text' of type str"),
        (lambda: [X[0], None], r"\[1\].*is NoneType, no array of numbers"),
        (lambda: [{"x": [[1.0], [1.0, 2.0]]}], "is no array"),
        (_fails, "fails: OSError: the disk is gone"),
    ],
)
def test_functions_that_give_no_samples(function: Callable[[], object], words: str) -> None:
    with pytest.raises(CalibrationError, match=words):
        feeds(function)


def test_functions_may_return_all_at_once() -> None:
    assert_all(feeds(lambda: X))
    assert_all(feeds(lambda: {"x": X}))


def test_nothing_there(tmp_path: Path) -> None:
    np.savez(tmp_path / "empty.npz", x=X[:0])
    (tmp_path / "folder").mkdir()
    for source in (tmp_path / "empty.npz", []):
        with pytest.raises(CalibrationError, match="there is no calibration sample"):
            feeds(source)
    with pytest.raises(CalibrationError, match="the folder holds no data"):
        feeds(tmp_path / "folder")
    with pytest.raises(CalibrationError, match="no such file or folder"):
        feeds(tmp_path / "nowhere")
    (tmp_path / "text.txt").write_text("x")
    with pytest.raises(CalibrationError, match="is no calibration data"):
        feeds(tmp_path / "text.txt")


def test_names(tmp_path: Path) -> None:
    graph = graph_of(x=(1, 3), mask=(1, 2))
    with pytest.raises(CalibrationError, match="no data for input 'mask'"):
        list(open_calibration([{"x": np.zeros((1, 3), np.float32), "other": np.zeros(2)}], graph))
    for name, fits in (("x", True), ("arr_0", True), ("y", False)):
        np.savez(tmp_path / "one.npz", **{name: np.zeros((2, 3), np.float32)})
        if fits:
            assert len(list(open_calibration(tmp_path / "one.npz", graph_of(x=(1, 3))))) == 2
        else:
            with pytest.raises(CalibrationError, match="given: y"):
                list(open_calibration(tmp_path / "one.npz", graph_of(x=(1, 3))))
    np.savez(tmp_path / "a.npz", x=np.zeros((2, 3), np.float32), mask=np.zeros((3, 2), np.float32))
    with pytest.raises(CalibrationError, match="different numbers of samples: 'x' 2, 'mask' 3"):
        list(open_calibration(tmp_path / "a.npz", graph))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04junk", b"\x93NUMPY\x01"])
def test_damaged_files(tmp_path: Path, content: bytes) -> None:
    for name in ("a.npz", "a.npy", "a.bin", "a.png"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError):
            feeds(tmp_path / name, graph_of(x=(1, 3, 8, 8)))


def test_pictures(tmp_path: Path) -> None:
    """Against the same steps written out with NumPy."""
    Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pixels = np.random.default_rng(0).integers(0, 256, (6, 8, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "p.png")
    value = Value("x", TensorType(DType.f32, (1, 3, 4, 4)))
    options = ImageOptions(mean=(10.0, 20.0, 30.0), std=(2.0,), resize=(6, 8), crop=(4, 4))
    expected = (pixels[1:5, 2:6].astype(np.float64) - [10, 20, 30]) / 2
    found = read_image(tmp_path / "p.png", value, options)
    np.testing.assert_allclose(found[0], expected.transpose(2, 0, 1), rtol=1e-6)
    other = Value("x", TensorType(DType.f32, (1, 4, 4, 3)))
    swapped = read_image(tmp_path / "p.png", other, ImageOptions(**{**options.__dict__, "bgr": True}))
    np.testing.assert_allclose(swapped[0], (pixels[1:5, 2:6, ::-1].astype(np.float64) - [10, 20, 30]) / 2, rtol=1e-6)
    assert read_image(tmp_path / "p.png", value, ImageOptions()).shape == (1, 3, 4, 4)
    with pytest.raises(InputError, match="larger than the picture"):
        read_image(tmp_path / "p.png", value, ImageOptions(resize=(4, 4), crop=(6, 6)))
    with pytest.raises(InputError, match="--std 0: 0 is not possible"):
        read_image(tmp_path / "p.png", value, ImageOptions(std=(0.0,)))
    with pytest.raises(InputError, match="takes no pictures"):
        read_image(tmp_path / "p.png", Value("x", TensorType(DType.f32, (1, 9))), ImageOptions())


def test_samples_are_not_kept() -> None:
    """However many there are: beside those of the search no more than a few live at a time."""
    alive: set[int] = set()
    most = 0

    def generate() -> Iterator[np.ndarray]:
        nonlocal most
        for number in range(150):
            sample = np.random.default_rng(number).standard_normal((1, 16)).astype(np.float32)
            alive.add(id(sample))
            weakref.finalize(sample, alive.discard, id(sample))
            most = max(most, len(alive))
            yield sample
            del sample

    options = QuantizeOptions(calibrate=generate, search_samples=4)
    reports: list[QuantReport] = []
    convert(onnx_nets.dense(np.random.default_rng(0)), quantization=options, report=reports.append)
    assert reports[0].samples == 150
    assert most < 10


def test_what_is_said_of_npy_files_that_are_none(tmp_path: Path) -> None:
    """NumPy's own words for them are advice to unpickle."""
    np.save(tmp_path / "whole.npy", X)
    np.save(tmp_path / "objects.npy", np.array([{}, None]), allow_pickle=True)
    whole = (tmp_path / "whole.npy").read_bytes()
    for name, content, words in (
        ("objects", (tmp_path / "objects.npy").read_bytes(), "holds Python objects"),
        ("empty", b"", "is empty"),
        ("text", b"1 2 3", "is no .npy file"),
        ("short", whole[:-4], "is a damaged .npy file"),
        ("header", whole[:20], "is a damaged .npy file"),
    ):
        (tmp_path / f"{name}.npy").write_bytes(content)
        for read in (feeds, load_labels):
            with pytest.raises(InputError, match=f"{name}.npy: {words}") as raised:
                read(tmp_path / f"{name}.npy")
            assert "pickle" not in str(raised.value)
