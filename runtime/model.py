"""``load`` and ``Model``: a .lith file in the C runtime, with NumPy arrays in and out."""

from __future__ import annotations

import math
import operator
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from microlith.errors import InputError, MicrolithError, ShapeError
from microlith.runtime._ffi import RunCancelledError, check, ffi, library, text
from microlith.runtime.facts import (
    Layer,
    Memory,
    Prepacked,
    Quantization,
    TensorSpec,
    positions_of,
    read_labels,
    read_spec,
)
from microlith.runtime.model_file import ClosedFile, ModelFile
from microlith.runtime.weights_cache import WeightsCache

__all__ = ["Layer", "Memory", "Model", "Prepacked", "Quantization", "RunCancelledError", "TensorSpec", "load"]

_CONTRACTS = ("tflite-double", "single", "float-even")


Inputs = Mapping[str, Any] | Sequence[Any] | np.ndarray | None


def load(
    model: str | os.PathLike[str] | bytes,
    *,
    threads: int = 1,
    isa: str | Sequence[str] | None = None,
    packed_limit: int = 0,
    winograd: bool = True,
    cores: Sequence[int] | None = None,
    weights_cache: WeightsCache | None = None,
) -> Model:
    """Opens a .lith file, or the bytes of one.

    ``isa`` limits the instruction sets that kernels may use (``"c"``, ``"c,avx2"``); integer results do not depend on
    it, and no result on ``threads``. The weights of a file of more than ``packed_limit`` bytes (0: 1 GiB) stay where
    they are, in the mapped file; those of smaller ones are copied where a kernel is faster with another layout.
    Without ``winograd`` no float32 convolution uses Winograd's algorithm, which is faster, rounds a little more (still
    within the tolerance of the op), and keeps up to four times the bytes of its weights.
    ``cores`` are numbers of cores that threads stay on, the first one that of the caller, who is not moved: bind that
    one with ``os.sched_setaffinity``. Without it the system chooses, and always where it is not Linux.
    Weights in the layout of kernels are shared with the other models of ``weights_cache``; None: of the process.
    Raises ModelFormatError for a file that cannot be read or is damaged, and InputError for an unknown instruction
    set, an impossible number of threads or a core that there is not.
    """
    cache = WeightsCache.of_process() if weights_cache is None else weights_cache
    return Model(ModelFile(model, isa, packed_limit, winograd, cache), threads, cores)


def _core_numbers(cores: Sequence[int] | None) -> list[int]:
    try:
        numbers = [operator.index(core) for core in cores or ()]
    except TypeError:
        raise InputError(f"{cores!r} are no numbers of cores", hint="for example cores=[2, 3]") from None
    if any(not 0 <= number < 4096 for number in numbers):
        raise InputError(f"there are no cores {numbers}", hint="os.sched_getaffinity(0) says which there are")
    return numbers


def _destroy(session: Any, _file: ModelFile) -> None:
    """Ends a session. The file is an argument so that it stays open until then."""
    library().lith_session_destroy(session)


class Model:
    """A model that is ready to run. One run at a time: other threads wait, or use a ``clone`` of their own."""

    def __init__(self, file: ModelFile, threads: int, cores: Sequence[int] | None = None) -> None:
        """Use ``load``."""
        lib = library()
        numbers = _core_numbers(cores)
        try:
            threads = operator.index(threads)
        except TypeError:
            raise InputError(f"{threads!r} is no number of threads", hint="1 to 1024 are possible") from None
        if not 1 <= threads <= 1024:
            raise InputError(f"{threads} threads were asked for", hint="1 to 1024 are possible")
        self._lib = lib
        self._file: ModelFile | ClosedFile = file
        self._lock = threading.Lock()
        self._life = threading.Lock()  # ``cancel`` must not wait for the run that it stops
        self._process = os.getpid()
        self._threads = threads
        self._cores = numbers
        self._message = ffi.new("lith_message *")
        self._bound: dict[tuple[str, int], np.ndarray] = {}
        self._unbound = lib.lith_model_input_count(file.pointer)
        options = ffi.new(
            "lith_session_options *", {"struct_size": ffi.sizeof("lith_session_options"), "threads": threads}
        )
        given = ffi.new("int32_t[]", numbers)
        options.cores, options.core_count = given, len(numbers)
        result = ffi.new("lith_session **")
        check(lib.lith_session_create(file.pointer, options, result, self._message), self._message, where=file.where)
        self._session: Any = result[0]
        self._finalizer = weakref.finalize(self, _destroy, self._session, file)
        info = ffi.new("lith_model_info *")
        check(lib.lith_model_get_info(file.pointer, info))
        self._info = info
        self._name, self._producer = text(info.name), text(info.producer)
        self._is_dynamic = bool(info.is_dynamic)
        self._inputs = tuple(
            read_spec(lib.lith_model_input_info, file.pointer, index)
            for index in range(lib.lith_model_input_count(file.pointer))
        )
        self._outputs = tuple(
            read_spec(lib.lith_model_output_info, file.pointer, index)
            for index in range(lib.lith_model_output_count(file.pointer))
        )
        self._labels: dict[str, list[str]] | None = None
        self._read_shapes()

    # --- what it is ---------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._name

    @property
    def producer(self) -> str:
        """The program that wrote the file."""
        return self._producer

    @property
    def contract(self) -> str:
        """The rounding contract of its integer ops: ``tflite-double``, ``single`` or ``float-even``."""
        return _CONTRACTS[self._info.contract]

    @property
    def metadata(self) -> dict[str, str]:
        """What the converter noted."""
        key, value = ffi.new("char **"), ffi.new("char **")
        pairs = {}
        for index in range(self._info.metadata_count):
            check(self._lib.lith_model_metadata(self._file.pointer, index, key, value))
            pairs[text(key[0])] = text(value[0])
        return pairs

    @property
    def labels(self) -> dict[str, list[str]]:
        """The texts that the integers of inputs and outputs stand for, by name, where the original model has texts
        there; of an output of real numbers, what the positions along its last dimension stand for."""
        if self._labels is None:
            names = [spec.name for spec in (*self._inputs, *self._outputs)]
            found = {name: read_labels(self._file.pointer, name) for name in names}
            self._labels = {name: labels for name, labels in found.items() if labels}
        return self._labels

    def size_range(self, symbol: str) -> tuple[int, int]:
        """The smallest and the largest size that dimensions of the inputs of this name may have."""
        if not isinstance(symbol, str):
            raise InputError(f"{symbol!r} is no name of a size", where=self._file.where, hint="'inputs' says them all")
        low, high = ffi.new("int32_t *"), ffi.new("int32_t *")
        check(self._lib.lith_model_size_range(self._file.pointer, symbol.encode(), low, high))
        return low[0], high[0]

    def size_step(self, symbol: str) -> int:
        """Of the sizes of ``size_range`` only every so many are possible, from the smallest on; 1: all."""
        self.size_range(symbol)  # checks the name
        step = ffi.new("int32_t *")
        check(self._lib.lith_model_size_step(self._file.pointer, symbol.encode(), step))
        return int(step[0])

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """The inputs as the file declares them."""
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The outputs as the file declares them."""
        return self._outputs

    @property
    def threads(self) -> int:
        return self._threads

    @property
    def isa(self) -> tuple[str, ...]:
        """The instruction sets that kernels are chosen from."""
        mask = self._info.isa_mask
        names = (text(self._lib.lith_isa_name(1 << bit)) for bit in range(32) if mask >> bit & 1)
        return tuple(name for name in names if name)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one run; 0 when they depend on shapes that are known at run time only."""
        return int(self._info.macs)

    @property
    def is_dynamic(self) -> bool:
        """Whether sizes depend on the values of inputs, so that those of outputs are known only after a run."""
        return self._is_dynamic

    @property
    def memory(self) -> Memory:
        info = ffi.new("lith_memory_info *")
        with self._lock:
            check(self._lib.lith_session_memory(self._open(), info))
        return Memory(
            arena=info.arena_bytes,
            arena_lower_bound=info.lower_bound_bytes,
            constants=self._info.constant_bytes,
            packed=self._info.packed_bytes + info.packed_bytes,
            overhead=info.overhead_bytes,
        )

    @property
    def prepacked(self) -> Prepacked | None:
        """What the file holds in the layout of kernels, and how much of it serves here; None: nothing."""
        info = ffi.new("lith_prepacked_info *")
        check(self._lib.lith_model_prepacked(self._file.pointer, info))
        return Prepacked(text(info.target), info.count, info.used) if info.count else None

    @property
    def arena_bytes(self) -> int:
        """Bytes of activations and scratch."""
        return self.memory.arena

    # --- running ------------------------------------------------------------------------------------------------

    def run(self, inputs: Inputs = None, /, *more: Any) -> dict[str, np.ndarray]:
        """Runs the model once; outputs by name.

        Inputs are given by name (``{name: array}``), as a list, or as arguments in the order of ``inputs``; arrays,
        tensors of other libraries in the memory of the CPU (DLPack), lists or numbers; texts for an input that has
        ``labels``. Sizes that are known at run time only follow the arrays. Other threads go on while it runs. Raises
        InputError for a wrong name, shape or element type.
        """
        with self._lock:
            self._set_inputs(self._ordered(inputs, more))
            self._run()
            return {spec.name: self._output(index) for index, spec in enumerate(self._outputs)}

    __call__ = run

    def invoke(self) -> None:
        """Runs the model once on the memory that is bound (see ``bind``): the shortest way, for calls of microseconds.

        Outputs are in their bound arrays. Raises InputError as long as an input is not bound.
        """
        with self._lock:
            session = self._open()
            if self._unbound:
                names = [spec.name for index, spec in enumerate(self._inputs) if ("input", index) not in self._bound]
                raise InputError(
                    f"input '{names[0]}' is not bound",
                    where=self._file.where,
                    hint="bind() every input first, or give arrays to run()",
                )
            status = self._lib.lith_session_run(session, self._message)
            if status:
                check(status, self._message, where=self._file.where)
            if self._is_dynamic:
                self._read_shapes()

    def profile(self, inputs: Inputs = None, /, *more: Any) -> list[Layer]:
        """Runs the model once; the nodes with their times, in order."""
        layers: list[Layer] = []

        def note(_user: Any, event: Any) -> None:
            layers.append(
                Layer(text(event.name), text(event.op), text(event.kernel), event.nanoseconds, event.macs, event.parts)
            )

        callback = ffi.callback("void(void *, const lith_profile_event *)", note)
        with self._lock:
            self._set_inputs(self._ordered(inputs, more))
            self._lib.lith_session_set_profiler(self._session, callback, ffi.NULL)
            try:
                self._run()
            finally:
                self._lib.lith_session_set_profiler(self._session, ffi.NULL, ffi.NULL)
        return layers

    def resize(self, shapes: Mapping[str, Sequence[int]]) -> None:
        """Gives inputs other shapes; those that are not named keep theirs.

        Raises InputError for an unknown name and ShapeError when the model cannot take them; the model then stays as
        it was. Buffers that were bound are unbound.
        """
        if not isinstance(shapes, Mapping):
            raise InputError(
                f"{shapes!r} does not say which input gets which shape",
                where=self._file.where,
                hint="give a dict from names to shapes",
            )
        with self._lock:
            self._open()
            wanted = dict(zip((spec.name for spec in self._inputs), self._shapes, strict=True))
            for name, shape in shapes.items():
                if name not in wanted:
                    raise InputError(f"there is no input '{name}'", where=self._file.where, hint=self._expected())
                try:
                    wanted[name] = tuple(operator.index(size) for size in shape)
                except TypeError:
                    raise InputError(
                        f"{shape!r} is no shape for input '{name}'", where=self._file.where, hint=self._expected()
                    ) from None
            self._resize(list(wanted.values()))

    def bind(self, name: str, array: Any) -> None:
        """Lets runs use the memory of ``array`` for an input or output, without a copy, until it is bound again.

        An array of NumPy, or a tensor of another library in the memory of the CPU (DLPack). ``None``: no more. A bound
        input need not be given to ``run``; a bound output is the very memory in its results. The array is contiguous,
        and writable for an output. For an output whose size depends on data it may have any shape: results are its
        first elements, and a run with more of them fails. Raises InputError when nothing fits.
        """
        with self._lock:
            session = self._open()
            for kind, specs in (("input", self._inputs), ("output", self._outputs)):
                for index, spec in enumerate(specs):
                    if spec.name == name:
                        self._bind(session, kind, index, spec, array)
                        return
            raise InputError(f"there is no input or output '{name}'", where=self._file.where, hint=self._expected())

    def reset(self) -> None:
        """Sets the state of a streaming model back to its start."""
        with self._lock:
            self._lib.lith_session_reset(self._open())

    def cancel(self) -> None:
        """Makes the run in progress, or else the next one, raise RunCancelledError. From any thread."""
        with self._life:
            self._lib.lith_session_cancel(self._open())

    def clone(self, *, threads: int | None = None) -> Model:
        """A model of its own for another thread; the weights are shared."""
        file = self._file
        if isinstance(file, ClosedFile):
            raise MicrolithError("the model was closed", where=file.where)
        return Model(file, self._threads if threads is None else threads, self._cores)

    def close(self) -> None:
        """Gives the memory back, that of weights with the last clone; also at the end of a ``with`` block.

        May be called twice.
        """
        with self._lock, self._life:
            self._session = None
            self._finalizer()
            self._file = ClosedFile(self._file.where)
            self._bound.clear()

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a Model cannot be pickled: it holds memory of the C runtime; load the file in each process")

    def __repr__(self) -> str:
        signature = f"({', '.join(map(str, self._inputs))}) -> ({', '.join(map(str, self._outputs))})"
        return f"<Model {self._file.where} {signature}>"

    # --- inside (the lock is held) ------------------------------------------------------------------------------

    def _open(self) -> Any:
        if self._session is None:
            raise MicrolithError("the model was closed", where=self._file.where)
        if self._threads > 1 and os.getpid() != self._process:
            raise MicrolithError(
                "the model was loaded before this process was forked, and its threads stayed behind",
                where=self._file.where,
                hint="load it in this process",
            )
        return self._session

    def _expected(self) -> str:
        inputs = ", ".join(map(str, self._inputs)) or "none"
        return f"the inputs are {inputs}; the outputs {', '.join(str(spec) for spec in self._outputs) or 'none'}"

    def _read_shapes(self) -> None:
        """The shapes of inputs and outputs as they are in the session."""
        info = ffi.new("lith_tensor_info *")

        def shapes(ask: Any, count: int) -> list[tuple[int, ...]]:
            result = []
            for index in range(count):
                check(ask(self._session, index, info))
                result.append(tuple(info.dims[axis] for axis in range(info.rank)))
            return result

        self._shapes = shapes(self._lib.lith_session_input_info, len(self._inputs))
        self._output_shapes = shapes(self._lib.lith_session_output_info, len(self._outputs))

    def _resize(self, shapes: Sequence[tuple[int, ...]]) -> None:
        wanted = ffi.new("lith_shape[]", max(len(shapes), 1))
        for item, shape, spec in zip(wanted, shapes, self._inputs, strict=False):
            if len(shape) == len(spec.shape) and min(shape, default=0) == -1:
                raise ShapeError(
                    f"the shape of input '{spec.name}' is not known yet: {spec.with_sizes(shape)}",
                    where=self._file.where,
                    hint="give the shapes of all inputs that have open sizes",
                )
            if len(shape) != len(spec.shape) or any(not 0 <= size < 2**31 for size in shape):
                raise InputError(f"input '{spec.name}' cannot have shape {list(shape)}", where=self._file.where)
            item.rank = len(shape)
            for axis, size in enumerate(shape):
                item.dims[axis] = size
        status = self._lib.lith_session_resize(self._open(), wanted, len(shapes), self._message)
        check(status, self._message, where=self._file.where)
        self._bound.clear()
        self._unbound = len(self._inputs)
        self._read_shapes()

    def _ordered(self, inputs: Inputs, more: Sequence[Any]) -> list[Any]:
        """What was given for each input; None where a buffer is bound and nothing was given."""
        if not self._bound and not more and type(inputs) is np.ndarray and len(self._inputs) == 1:
            return [inputs]
        bound = [("input", index) in self._bound for index in range(len(self._inputs))]
        if isinstance(inputs, Mapping) and not more:
            names = {spec.name for spec in self._inputs}
            missing = [
                spec.name for spec, has in zip(self._inputs, bound, strict=True) if spec.name not in inputs and not has
            ]
            unknown = [str(name) for name in inputs if name not in names]
            if missing or unknown:
                parts = [f"input '{name}' is missing" for name in missing]
                parts += [f"there is no input '{name}'" for name in unknown]
                raise InputError("; ".join(parts), where=self._file.where, hint=self._expected())
            empty = [name for name, value in inputs.items() if value is None]
            if empty:
                raise InputError(f"input '{empty[0]}' is None", where=self._file.where, hint=self._expected())
            return [inputs.get(spec.name) for spec in self._inputs]
        if isinstance(inputs, (list, tuple)) and not more:
            given = list(inputs)
        else:
            given = [] if inputs is None and not more else [inputs, *more]
        if not given and all(bound):
            return [None] * len(bound)
        if len(given) != len(self._inputs):
            raise InputError(
                f"{len(given)} inputs were given, the model has {len(self._inputs)}",
                where=self._file.where,
                hint=self._expected(),
            )
        for spec, value in zip(self._inputs, given, strict=True):
            if value is None:
                raise InputError(f"input '{spec.name}' is None", where=self._file.where, hint=self._expected())
        return given

    def _set_inputs(self, given: Sequence[Any]) -> None:
        arrays = [
            None if value is None else self._array(spec, value) for spec, value in zip(self._inputs, given, strict=True)
        ]
        shapes = []
        for spec, current, array in zip(self._inputs, self._shapes, arrays, strict=True):
            shape = current if array is None else array.shape
            if shape == current:
                shapes.append(shape)
                continue
            # What was fixed may have been resized; what is open takes any size.
            wanted = tuple(size if open_size >= 0 else -1 for open_size, size in zip(spec.shape, current, strict=True))
            if len(shape) != len(wanted) or any(
                want not in (-1, size) for want, size in zip(wanted, shape, strict=True)
            ):
                raise InputError(
                    f"input '{spec.name}' has shape {list(shape)}, the model wants {spec.with_sizes(wanted)}",
                    where=self._file.where,
                    hint=self._expected(),
                )
            shapes.append(shape)
        if shapes != self._shapes:
            self._resize(shapes)
        session = self._open()
        for index, array in enumerate(arrays):
            if array is not None:
                data = ffi.from_buffer(array)
                status = self._lib.lith_session_set_input(session, index, data, array.nbytes, self._message)
                check(status, self._message, where=self._file.where)

    def _array(self, spec: TensorSpec, value: Any) -> np.ndarray:
        """A contiguous array of the type that an input wants; lists and numbers are converted when nothing is lost.

        Tensors of other libraries come through DLPack, without a copy.
        """
        if type(value) is np.ndarray and value.dtype == spec.dtype and value.flags.c_contiguous:
            return value
        try:
            if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
                value = np.from_dlpack(value)
            array = np.asarray(value)
        except (ValueError, BufferError, RuntimeError, TypeError) as error:  # lists of different lengths, a device
            raise InputError(f"input '{spec.name}' is no array: {error}", where=self._file.where) from error
        if array.dtype.kind in "UO" and spec.name in self.labels:
            array = positions_of(array, self.labels[spec.name])
        if array.dtype != spec.dtype and not isinstance(value, np.ndarray) and array.dtype.kind in "biuf":
            with np.errstate(all="ignore"):  # what does not fit is refused below
                converted = array.astype(spec.dtype)
            if spec.dtype.kind == "f" or np.array_equal(converted, array):
                array = converted
        if array.dtype != spec.dtype:
            raise InputError(
                f"input '{spec.name}' is {array.dtype}, the model wants {spec.dtype}",
                where=self._file.where,
                hint=self._expected(),
            )
        return np.ascontiguousarray(array).reshape(array.shape)

    def _memory_of(self, kind: str, spec: TensorSpec, value: Any) -> np.ndarray:
        """The memory of an array, or of a tensor of another library, as an array."""
        if isinstance(value, np.ndarray):
            return value
        try:
            array = np.from_dlpack(value)
            if not array.flags.writeable:  # older versions of DLPack do not say that memory may be written to
                other = np.asarray(value)
                array = other if other.ctypes.data == array.ctypes.data else array
        except (ValueError, BufferError, RuntimeError, TypeError, AttributeError) as error:
            raise InputError(
                f"what {kind} '{spec.name}' is bound to is no array: {error}", where=self._file.where
            ) from error
        return array

    def _bind(self, session: Any, kind: str, index: int, spec: TensorSpec, value: Any) -> None:
        array = None if value is None else self._memory_of(kind, spec, value)
        call = getattr(self._lib, f"lith_session_bind_{kind}")
        pointer, size = ffi.NULL, 0
        if array is not None:
            shape = (self._shapes if kind == "input" else self._output_shapes)[index]
            if -1 in shape and any(-1 in known for known in self._shapes):
                raise InputError(
                    f"the shape of {kind} '{spec.name}' is not known yet",
                    where=self._file.where,
                    hint="call resize() first",
                )
            is_open = kind == "output" and self._info.is_dynamic and -1 in spec.shape
            given = f"{array.dtype} {list(array.shape)}"
            if array.dtype == spec.dtype and (is_open or array.shape == shape):
                given = "one with gaps" if not array.flags.c_contiguous else ""
                if kind == "output" and not array.flags.writeable:
                    given = "one that is read-only"
            if given:
                raise InputError(
                    f"{kind} '{spec.name}' wants a contiguous {spec.dtype} array of shape {list(shape)}, not {given}",
                    where=self._file.where,
                )
            pointer, size = ffi.from_buffer(array), array.nbytes
        check(call(session, index, pointer, size, self._message), self._message, where=self._file.where)
        self._bound.pop((kind, index), None)
        if array is not None:
            self._bound[kind, index] = array
        self._unbound = sum(("input", place) not in self._bound for place in range(len(self._inputs)))

    def _run(self) -> None:
        check(self._lib.lith_session_run(self._open(), self._message), self._message, where=self._file.where)
        if self._is_dynamic:
            self._read_shapes()

    def _output(self, index: int) -> np.ndarray:
        bound = self._bound.get(("output", index))
        if bound is not None:
            shape = self._output_shapes[index]
            return bound if bound.shape == shape else bound.reshape(-1)[: math.prod(shape)].reshape(shape)
        array = np.empty(self._output_shapes[index], self._outputs[index].dtype)
        data = ffi.from_buffer(array)
        status = self._lib.lith_session_get_output(self._session, index, data, array.nbytes, self._message)
        check(status, self._message, where=self._file.where)
        return array
