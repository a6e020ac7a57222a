# SPDX-License-Identifier: Apache-2.0
"""The labels that a TFLite file brings: text files in an archive behind the model, and the metadata that says whose
they are (https://ai.google.dev/edge/litert/models/metadata)."""

from __future__ import annotations

import io
import mmap
import struct
import zipfile
import zlib
from collections.abc import Iterator

import tflite
from flatbuffers import encode, number_types
from flatbuffers.table import Table

END_OF_ARCHIVE = b"PK\x05\x06"
LARGEST_TAIL = 1 << 16
"""Bytes behind the last file of an archive, at most."""

MOST_BYTES = 1 << 20
"""Of a file of labels."""

AXIS_LABELS, VALUE_LABELS = 2, 3
"""What a file names: the positions along the last dimension, or the values of the elements (AssociatedFileType)."""

SUBGRAPHS, OUTPUTS, FILES = 3, 3, 6
NAME, TYPE = 0, 2
"""Numbers of fields: of ModelMetadata, SubGraphMetadata and TensorMetadata; of AssociatedFile."""


def labels_of_outputs(data: bytes | mmap.mmap) -> dict[int, tuple[int, list[str]]]:
    """What a file names, and the names, for each output that has some. What is damaged is not there."""
    if data.rfind(END_OF_ARCHIVE, max(0, len(data) - LARGEST_TAIL)) < 0:
        return {}
    try:
        with zipfile.ZipFile(io.BytesIO(data[:])) as archive:
            sizes = {info.filename: info.file_size for info in archive.infolist()}
            named = {index: item for index, item in _files(data) if 0 < sizes.get(item[1], 0) <= MOST_BYTES}
            return {index: (kind, _lines(archive.read(name))) for index, (kind, name) in named.items()}
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError):
        return {}
    except (ArithmeticError, LookupError, TypeError, ValueError, struct.error):
        return {}


def _lines(raw: bytes) -> list[str]:
    return raw.decode("utf-8", "replace").rstrip("\r\n").splitlines()


def _files(data: bytes | mmap.mmap) -> Iterator[tuple[int, tuple[int, str]]]:
    """For outputs of the model what a file names, and that file."""
    model = tflite.Model.GetRootAs(data, 0)
    for index in range(model.MetadataLength()):
        item = model.Metadata(index)
        if item.Name() == b"TFLITE_METADATA" and item.Buffer() < model.BuffersLength():
            buffer = model.Buffers(item.Buffer())
            if buffer.DataLength():
                raw = buffer.DataAsNumpy().tobytes()
                root = Table(raw, encode.Get(number_types.UOffsetTFlags.packer_type, raw, 0))
                for subgraph in _tables(root, SUBGRAPHS)[:1]:
                    for position, tensor in enumerate(_tables(subgraph, OUTPUTS)):
                        for file in _tables(tensor, FILES):
                            kind = _field(file, TYPE)
                            if kind and file.Bytes[file.Pos + kind] in (AXIS_LABELS, VALUE_LABELS):
                                name = file.String(file.Pos + _field(file, NAME)).decode()
                                yield position, (file.Bytes[file.Pos + kind], name)


def _field(table: Table, number: int) -> int:
    """Where a field stands in a table; 0: it is absent."""
    return int(table.Offset(4 + 2 * number))


def _tables(table: Table, number: int) -> list[Table]:
    """The elements of a field that is a vector of tables."""
    place = _field(table, number)
    if not place:
        return []
    start, count = table.Vector(place), table.VectorLen(place)
    if count > len(table.Bytes) // 4:
        raise ValueError("a vector is longer than the file")
    return [Table(table.Bytes, table.Indirect(start + 4 * index)) for index in range(count)]
