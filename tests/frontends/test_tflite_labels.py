# SPDX-License-Identifier: Apache-2.0
"""Files of labels in an archive behind a TFLite model. Metadata as the schema of TFLite's metadata has it."""

from __future__ import annotations

import io
import random
import zipfile

import flatbuffers
import pytest
from test_tflite_format import small_model

from microlith.converter.frontends.tflite import import_tflite
from microlith.texts import labels_in

NAMES = ["background", "tench, Tinca tinca", "Ürün"]
AXIS, VALUES = 2, 3


def metadata(kind: int, file: str) -> bytes:
    """ModelMetadata with one file for the only output of its only subgraph."""
    fb = flatbuffers.Builder(0)

    def vector(item: int) -> int:
        fb.StartVector(4, 1, 4)
        fb.PrependUOffsetTRelative(item)
        return int(fb.EndVector())

    name = fb.CreateString(file)
    fb.StartObject(5)
    fb.PrependUOffsetTRelativeSlot(0, name, 0)
    fb.PrependInt8Slot(2, kind, 0)
    files = vector(fb.EndObject())
    fb.StartObject(7)
    fb.PrependUOffsetTRelativeSlot(6, files, 0)
    outputs = vector(fb.EndObject())
    fb.StartObject(7)
    fb.PrependUOffsetTRelativeSlot(3, outputs, 0)
    subgraphs = vector(fb.EndObject())
    fb.StartObject(8)
    fb.PrependUOffsetTRelativeSlot(3, subgraphs, 0)
    fb.Finish(fb.EndObject(), b"M001")
    return bytes(fb.Output())


def model(kind: int = AXIS, listed: str = "labels.txt", stored: str = "labels.txt") -> bytes:
    builder = small_model()
    builder.metadata["TFLITE_METADATA"] = metadata(kind, listed)
    file = io.BytesIO(builder.build())
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("other.txt", "a\nb\n")
        archive.writestr(stored, "\r\n".join(NAMES) + "\nlast one\n")
    return file.getvalue()


def labels(data: bytes) -> dict[str, list[str]]:
    return labels_in(import_tflite(data).metadata)


def test_labels_of_classes() -> None:
    assert labels(model()) == {"scores": [*NAMES, "last one"]}


def test_other_files_and_outputs() -> None:
    """Names of values, for an output of quantized scores; a file that is not there, and one of another length."""
    assert labels(model(kind=VALUES)) == {}
    assert labels(model(listed="missing.txt")) == {}
    assert labels(model(listed="other.txt")) == {}
    assert labels(small_model().build()) == {}


def test_a_file_that_unpacks_to_more_than_labels_need() -> None:
    builder = small_model()
    builder.metadata["TFLITE_METADATA"] = metadata(AXIS, "labels.txt")
    file = io.BytesIO(builder.build())
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("labels.txt", b"x" * (1 << 24))
    assert labels(file.getvalue()) == {}


@pytest.mark.parametrize("seed", range(3))
def test_damage_is_no_error(seed: int) -> None:
    """The model converts, with labels or without, whatever is in its metadata and its archive."""
    rng = random.Random(seed)
    described = metadata(AXIS, "labels.txt")
    for _ in range(60):
        builder = small_model()
        damaged = bytearray(described)
        for _ in range(rng.randrange(4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        builder.metadata["TFLITE_METADATA"] = bytes(damaged)
        file = io.BytesIO(builder.build())
        end = file.seek(0, io.SEEK_END)
        with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("labels.txt", "\n".join("abcd"))
        data = bytearray(file.getvalue())
        for _ in range(rng.randrange(4)):
            data[rng.randrange(end, len(data))] = rng.randrange(256)
        assert all(len(found) == 4 for found in labels(bytes(data)).values())
