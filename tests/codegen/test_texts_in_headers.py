# SPDX-License-Identifier: Apache-2.0
"""Texts that outputs stand for, in the header of generated C."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import small_models
from generated_projects import STRICT, need

from microlith.codegen import generate
from microlith.texts import set_labels

TEXTS = ['a "quoted"\\ word ??/', "two\tparts", "Ürün", "", "1 2"]

PROGRAM = """\
#include "net.h"
#include <stdio.h>

static const char *const names[] = NET_OUTPUT_FEATURES_LABELS;

int main(void) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        fputs(names[i], stdout);
        putchar(0);
    }
    return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_texts_are_what_they_were(compiler: str, tmp_path: Path) -> None:
    need(compiler)
    graph = small_models.float_cnn()
    set_labels(graph.metadata, "features", TEXTS)
    generate(graph, "host", tmp_path / "net", name="net")
    (tmp_path / "main.c").write_text(PROGRAM)
    command = [
        compiler,
        *STRICT.split(),
        f"-I{tmp_path / 'net'}",
        str(tmp_path / "main.c"),
        "-o",
        str(tmp_path / "names"),
    ]
    subprocess.run(command, check=True)
    printed = subprocess.run([str(tmp_path / "names")], check=True, capture_output=True).stdout
    assert printed.decode().split("\0")[:-1] == TEXTS
