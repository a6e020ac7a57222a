"""A Zephyr module with a sample: https://docs.zephyrproject.org/latest/develop/modules.html"""

from __future__ import annotations

from ..parts import Parts, below, c_sources, require_architecture, require_source_weights

TITLE = "Zephyr module"
_BOARDS = {
    "cortex-m0plus": "nucleo_g071rb",
    "cortex-m3": "qemu_cortex_m3",
    "cortex-m4": "mps2/an386",
    "cortex-m7": "nucleo_h743zi",
    "cortex-m33": "mps2/an521/cpu0",
    "cortex-m55": "mps3/corstone300/an547",
    "cortex-m85": "mps4/corstone315/fvp",
    "riscv32": "qemu_riscv32",
    "arm64-linux": "qemu_cortex_a53",
    "armv7-linux": "qemu_cortex_a9",
    "host": "native_sim",
    "host-avx2": "native_sim",
}
"""A board with such a core that Zephyr has; those of QEMU where there is one."""
_DEPENDS = {
    "dsp": "CPU_CORTEX_M4 || CPU_CORTEX_M7 || ARMV8_M_DSP",
    "vfp": "CPU_HAS_FPU",
    "mve": "ARMV8_1_M_MVEI",
    "neon": "ARM64 || CPU_CORTEX_A",
    "avx2": "ARCH_POSIX || X86_64",
}


def files(parts: Parts) -> dict[str, str]:
    """The module by path."""
    view = parts.view
    families = ("cortex-m", "riscv", "aarch64", "armv7", "x86")
    require_architecture(view, "a Zephyr module", families, "take another target")
    require_source_weights(view, "a Zephyr module")
    used = {layer.isa for layer in view.all_layers if not layer.elided}
    sources = {**parts.model_sources(), **parts.kernel_files()}
    own = {
        "board_name": _BOARDS[parts.target.name],
        "symbol": f"MICROLITH_{view.upper}",
        "depends": [_DEPENDS[isa] for isa in sorted(used) if isa in _DEPENDS],
        "needs_fpu": any(f.c_type in ("float", "double") for f in (*view.inputs, *view.outputs)),
        "module_sources": c_sources(sources),
    }
    sample = f"samples/{view.name}"
    return {
        **below("include", parts.model_headers()),
        **below("src", sources),
        "zephyr/module.yml": parts.render("projects/zephyr/module.yml.j2", **own),
        "zephyr/CMakeLists.txt": parts.render("projects/zephyr/module.cmake.j2", **own),
        "zephyr/Kconfig": parts.render("projects/zephyr/Kconfig.j2", **own),
        f"{sample}/CMakeLists.txt": parts.render("projects/zephyr/sample.cmake.j2", **own),
        f"{sample}/prj.conf": parts.render("projects/zephyr/prj.conf.j2", **own),
        f"{sample}/sample.yaml": parts.render("projects/zephyr/sample.yaml.j2", **own),
        **below(f"{sample}/src", parts.selftest(function=f"{view.name}_selftest", clock_unit="cycles")),
        f"{sample}/src/main.c": parts.render("projects/zephyr/main.c.j2", **own),
        f"{sample}/src/platform_zephyr.c": parts.render("projects/zephyr/platform_zephyr.c.j2", **own),
        "README.md": parts.render("README.md.j2", usage="projects/zephyr/zephyr_usage.md.j2", **own),
    }


def next_step(folder: str) -> str:
    """How a user gets on."""
    return f"build its sample in a Zephyr workspace as {folder}/README.md says (west build)"
