#!/bin/sh
# Makes sure that the programs which pip cannot bring are there: system.sh base|demo|test
#
# Missing ones are installed with apt-get when we are root or sudo asks no password; else one line says what is
# missing, and the exit code is 1.
set -eu

missing=""
need() { # package, command that succeeds when it is there
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}
program() { command -v "$1"; }
library() { test -e "$("$1" -print-file-name="$2")"; }

group=${1:-base}
need make program make
need gcc program gcc
need libc6-dev library gcc libc.so
need python3 program "${PYTHON:-python3}"
need python3-venv "${PYTHON:-python3}" -c 'import ensurepip, venv'
case $group in
demo | test)
    need gcc-arm-none-eabi program arm-none-eabi-gcc
    need libnewlib-arm-none-eabi library arm-none-eabi-gcc libc_nano.a
    need qemu-system-arm program qemu-system-arm
    ;;
esac
case $group in
test)
    need g++ program g++
    need pkg-config program pkg-config
    need clang program clang
    need gcc-aarch64-linux-gnu program aarch64-linux-gnu-gcc
    need libc6-dev-arm64-cross library aarch64-linux-gnu-gcc libc.a
    need gcc-arm-linux-gnueabihf program arm-linux-gnueabihf-gcc
    need libc6-dev-armhf-cross library arm-linux-gnueabihf-gcc libc.a
    need qemu-user program qemu-aarch64
    need gcc-riscv64-unknown-elf program riscv64-unknown-elf-gcc
    need picolibc-riscv64-unknown-elf library riscv64-unknown-elf-gcc picolibc.specs
    need qemu-system-misc program qemu-system-riscv32
    need default-jdk-headless program javac
    need libxml2-utils program xmllint
    ;;
esac
[ -n "$missing" ] || exit 0

root=""
if [ "$(id -u)" != 0 ]; then
    root="sudo -n"
fi
if ! command -v apt-get >/dev/null || { [ -n "$root" ] && ! $root true 2>/dev/null; }; then
    echo "missing system packages (names of Debian):$missing" >&2
    exit 1
fi
echo "installing with apt-get:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
install() {
    # The words of $missing are the packages.
    # shellcheck disable=SC2086
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >"$log" 2>&1
}
if ! install; then
    $root apt-get update -q >>"$log" 2>&1 || true
    if ! install; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo "apt-get could not install:$missing" >&2
        exit 1
    fi
fi
rm -f "$log"
