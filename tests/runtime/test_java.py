"""The classes of org.microlith, as a program in Java uses them."""

from __future__ import annotations

from pathlib import Path

from lith_models import Case
from native_build import build, execute, require_tools
from test_native import check_client_output

CLIENT = Path(__file__).parent / "JavaClient.java"


def test_client(cases: dict[str, Case], tmp_path: Path) -> None:
    require_tools("javac")
    folder = build("java")
    (jar,) = folder.glob("java/microlith-*.jar")
    library = folder / "java" / "libmicrolith_jni.so"
    execute(["javac", "-Xlint:all", "-Werror", "-cp", jar, "-d", tmp_path, CLIENT])
    words = ["java", "-Xcheck:jni", f"-Dmicrolith.library={library}", "-cp", f"{jar}:{tmp_path}", "JavaClient"]
    check_client_output(execute([*words, cases["mlp"].path]), cases["mlp"])
