#!/usr/bin/env bash
# The kernels' tests on an emulated ARM processor: NEON must give the bits of x86. Not part of ./test: it needs a cross compiler, an
# emulator and the aarch64 standard library of the Rust toolchain, which it installs.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v qemu-aarch64 aarch64-linux-gnu-gcc >/dev/null ||
  { apt-get update -q && apt-get install -qy qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross; }
rustup target add aarch64-unknown-linux-gnu
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
cargo test -p compressive-kernels --target aarch64-unknown-linux-gnu
