"""Targets: one row each. Kernel choice, the code generator and the emulator tests read the same row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .errors import TargetError


@dataclass(frozen=True)
class Region:
    """A stretch of memory on a board. ``origin`` is an address, ``length`` is in bytes."""

    origin: int
    length: int


@dataclass(frozen=True)
class Board:
    """The machine that runs a bare-metal program: its QEMU name and the memory that the linker script uses.

    The vector table has a region of its own because some boards fetch it from another memory than the code.
    """

    machine: str
    vectors: Region
    flash: Region
    ram: Region
    emulator: str = "qemu-system-arm"
    options: tuple[str, ...] = ()
    """Further arguments of the emulator."""
    more: tuple[Region, ...] = ()
    """Other memories that a program can write, on which regions of a model are laid out."""


@dataclass(frozen=True)
class Target:
    """What generated code is compiled for."""

    name: str
    title: str
    """For people: ``"Cortex-M4F"``."""
    system: Literal["hosted", "bare-metal"]
    isa: tuple[str, ...]
    """Instruction sets that kernels may use, names as in ``nnacl_isa.h``. Among the rows of ``kernels.def`` that fit,
    the first (the best) wins; the order here says nothing."""
    tool_prefix: str
    """Before ``gcc``, ``size``, ...; empty for the compiler of this machine."""
    flags: tuple[str, ...]
    """For the compiler and the linker: the core and its floating-point unit."""
    alignment: int
    """Bytes; of the arena, of each tensor in it, and of constants."""
    packages: tuple[str, ...]
    """Debian packages that hold the compiler and the emulator."""
    board: Board | None = None
    user_emulator: tuple[str, ...] = ()
    """The command that runs a hosted program of a foreign architecture."""
    aliases: tuple[str, ...] = ()
    """Other names that users may give."""
    link_flags: tuple[str, ...] = ()
    zig_cpu: str = ""
    """The core as ``zig cc -mcpu`` names it, of a Cortex-M."""
    """For the linker alone: which C library."""

    @property
    def architecture(self) -> Literal["x86", "aarch64", "armv7", "cortex-m", "riscv"]:
        """The family, which decides about start-up code and about what a project can be part of."""
        if self.name.startswith("cortex-m"):
            return "cortex-m"
        if self.name.startswith("riscv"):
            return "riscv"
        return "aarch64" if self.name.startswith("arm64") else "armv7" if self.name.startswith("armv7") else "x86"

    @property
    def is_bare_metal(self) -> bool:
        return self.system == "bare-metal"

    @property
    def flash_bytes(self) -> int | None:
        """Flash for code and constants; None when there is no limit to speak of."""
        return self.board.flash.length if self.board else None

    @property
    def ram_bytes(self) -> int | None:
        """RAM for arena, stack and variables; None when there is no limit to speak of."""
        return self.board.ram.length if self.board else None

    @property
    def compiler(self) -> str:
        return f"{self.tool_prefix}gcc"

    def emulator(self, arguments: Sequence[str] = ()) -> list[str]:
        """The command in front of a program (its path comes next); empty when this machine runs it itself.

        On a board ``arguments`` reach ``main`` through semihosting; a hosted program gets them behind its path.
        """
        if self.board is None:
            return list(self.user_emulator)
        console = ",".join(["enable=on,target=native", *(f"arg={argument}" for argument in arguments)])
        return [
            self.board.emulator,
            *("-M", self.board.machine),
            *self.board.options,
            *("-display", "none", "-monitor", "none", "-serial", "none"),
            *("-icount", "shift=0"),
            *("-semihosting-config", console),
            "-kernel",
        ]


_BARE_METAL_PACKAGES = ("gcc-arm-none-eabi", "libnewlib-arm-none-eabi", "qemu-system-arm")
_MEGABYTE = 1024 * 1024
_VECTORS_SIZE = 0x400

# The memories of the boards as QEMU 7.2 models them. Cores with security extensions start in secure state, hence
# the secure aliases.
_MPS2_VECTORS = Region(0x00000000, _VECTORS_SIZE)
_MPS2_FLASH = Region(_VECTORS_SIZE, 4 * _MEGABYTE - _VECTORS_SIZE)
_MPS2_RAM = Region(0x20000000, 4 * _MEGABYTE)


def _mps2(machine: str, psram: int = 0x21000000) -> Board:
    return Board(machine, _MPS2_VECTORS, _MPS2_FLASH, _MPS2_RAM, more=(Region(psram, 16 * _MEGABYTE),))


_AN505 = Board(
    "mps2-an505",
    vectors=Region(0x10000000, _VECTORS_SIZE),
    flash=Region(0x10000000 + _VECTORS_SIZE, 4 * _MEGABYTE - _VECTORS_SIZE),
    ram=Region(0x38000000, 4 * _MEGABYTE),
    more=(Region(0x80000000, 16 * _MEGABYTE),),
)
_AN547 = Board(
    "mps3-an547",
    vectors=Region(0x10000000, _VECTORS_SIZE),
    flash=Region(0x70000000, 4 * _MEGABYTE),
    ram=Region(0x31000000, 4 * _MEGABYTE),
    more=(Region(0x30000000, 512 * 1024),),  # the tightly coupled data memory
)
# All memory of this machine is RAM from 0x80000000 on; a part of it stands for flash.
_VIRT = Board(
    "virt",
    vectors=Region(0x80000000, _VECTORS_SIZE),
    flash=Region(0x80000000 + _VECTORS_SIZE, 4 * _MEGABYTE - _VECTORS_SIZE),
    ram=Region(0x80400000, 4 * _MEGABYTE),
    emulator="qemu-system-riscv32",
    options=("-bios", "none"),
    more=(Region(0x80800000, 4 * _MEGABYTE),),
)


def _cortex_m(
    name: str,
    title: str,
    isa: tuple[str, ...],
    flags: tuple[str, ...],
    board: Board,
    alignment: int = 8,
    core: str = "",
    zig: str = "",
) -> Target:
    """``core``: the flag that names the core to the compiler; ``-mcpu=NAME`` unless given. ``zig``: what it has beside
    that which zig takes for granted."""
    return Target(
        name=name,
        title=title,
        system="bare-metal",
        isa=isa,
        tool_prefix="arm-none-eabi-",
        flags=(core or f"-mcpu={name}", "-mthumb", *flags),
        alignment=alignment,
        packages=_BARE_METAL_PACKAGES,
        board=board,
        link_flags=("--specs=nosys.specs",),
        zig_cpu=name.replace("-", "_") + zig,
    )


def _aarch64(extension: str, title: str, isa: tuple[str, ...], march: str, cpu: str = "") -> Target:
    """AArch64 with Linux; ``cpu`` is what QEMU emulates, its default where that is enough."""
    end = f"-{extension}" if extension else ""
    return Target(
        name=f"arm64-linux{end}",
        title=title,
        system="hosted",
        isa=(*isa, "c"),
        tool_prefix="aarch64-linux-gnu-",
        flags=(f"-march={march}",),
        alignment=64,
        packages=("gcc-aarch64-linux-gnu", "qemu-user"),
        user_emulator=("qemu-aarch64", *(("-cpu", cpu) if cpu else ()), "-L", "/usr/aarch64-linux-gnu"),
        aliases=(f"arm64{end}",),
    )


_TARGETS = (
    Target(
        name="host",
        title="x86-64 Linux, any CPU",
        system="hosted",
        isa=("c",),
        tool_prefix="",
        flags=(),
        alignment=64,
        packages=("gcc", "make"),
    ),
    Target(
        name="host-avx2",
        title="x86-64 Linux, CPU with AVX2 and FMA",
        system="hosted",
        isa=("avx2", "sse41", "c"),
        tool_prefix="",
        flags=("-mavx2", "-mfma", "-mf16c"),
        alignment=64,
        packages=("gcc", "make"),
    ),
    _aarch64("", "AArch64 Linux", ("neon",), "armv8-a"),
    _aarch64("dotprod", "AArch64 Linux, CPU with dot products", ("dotprod", "neon"), "armv8.2-a+dotprod", "cortex-a76"),
    _aarch64(
        "i8mm",
        "AArch64 Linux, CPU with products of int8 matrices",
        ("i8mm", "dotprod", "neon"),
        "armv8.2-a+dotprod+i8mm",
        "max",
    ),
    _aarch64(
        "bf16",
        "AArch64 Linux, CPU with products of int8 matrices and of bfloat16",
        ("bf16", "i8mm", "dotprod", "neon"),
        "armv8.2-a+dotprod+i8mm+bf16",
        "max",
    ),
    _aarch64(
        "fp16",
        "AArch64 Linux, CPU with dot products and half-precision arithmetic",
        ("fp16", "dotprod", "neon"),
        "armv8.2-a+dotprod+fp16",
        "cortex-a76",
    ),
    Target(
        name="armv7-linux",
        title="Armv7-A Linux with NEON",
        system="hosted",
        isa=("dsp", "c"),
        tool_prefix="arm-linux-gnueabihf-",
        flags=("-march=armv7-a", "-mfpu=neon-vfpv4", "-mfloat-abi=hard"),
        alignment=64,
        packages=("gcc-arm-linux-gnueabihf", "qemu-user"),
        user_emulator=("qemu-arm", "-L", "/usr/arm-linux-gnueabihf"),
        aliases=("armv7",),
    ),
    # QEMU has no Cortex-M0+ board; a Cortex-M3 runs its instructions, which are a subset.
    _cortex_m("cortex-m0plus", "Cortex-M0+", ("c",), ("-mfloat-abi=soft",), _mps2("mps2-an385")),
    _cortex_m("cortex-m3", "Cortex-M3", ("c",), ("-mfloat-abi=soft",), _mps2("mps2-an385")),
    _cortex_m(
        "cortex-m4",
        "Cortex-M4F",
        ("dsp", "vfp", "c"),
        ("-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
        _mps2("mps2-an386"),
        zig="+vfp4d16sp",
    ),
    _cortex_m(
        "cortex-m7",
        "Cortex-M7",
        ("dsp", "vfp", "c"),
        ("-mfloat-abi=hard", "-mfpu=fpv5-d16"),
        _mps2("mps2-an500", psram=0x60000000),
        zig="+fp_armv8d16",
    ),
    _cortex_m(
        "cortex-m33",
        "Cortex-M33",
        ("dsp", "vfp", "c"),
        ("-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"),
        _AN505,
        zig="+fp_armv8d16sp",
    ),
    # MVE flushes denormal floats to zero, which plain C must not do: its loops stay scalar.
    _cortex_m(
        "cortex-m55",
        "Cortex-M55",
        ("mve", "dsp", "vfp", "c"),
        ("-mfloat-abi=hard", "-mfpu=auto", "-fno-tree-vectorize"),
        _AN547,
        16,
        zig="+mve_fp+fp_armv8d16",
    ),
    # gcc 12 does not know this core by name, and QEMU has no board with it; the M55 of the board runs its instructions.
    _cortex_m(
        "cortex-m85",
        "Cortex-M85",
        ("mve", "dsp", "vfp", "c"),
        ("-mfloat-abi=hard", "-mfpu=auto", "-fno-tree-vectorize"),
        _AN547,
        16,
        core="-march=armv8.1-m.main+mve.fp+fp.dp",
        zig="+mve_fp+fp_armv8d16",
    ),
    Target(
        name="riscv32",
        title="RISC-V RV32IMC",
        system="bare-metal",
        isa=("c",),
        tool_prefix="riscv64-unknown-elf-",
        flags=("-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs"),
        alignment=8,
        packages=("gcc-riscv64-unknown-elf", "picolibc-riscv64-unknown-elf", "qemu-system-misc"),
        board=_VIRT,
    ),
)
_BY_NAME = {name: target for target in _TARGETS for name in (target.name, *target.aliases)}


def all_targets() -> Iterator[Target]:
    """Every target, in the order in which the documentation lists them."""
    return iter(_TARGETS)


def get(name: str) -> Target:
    """The target of that name; ``TargetError`` lists all when there is none."""
    target = _BY_NAME.get(name)
    if target is None:
        raise TargetError(f"there is no target '{name}'", hint="targets: " + ", ".join(_BY_NAME))
    return target
