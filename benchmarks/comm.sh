#!/usr/bin/env bash
# Measures all-reduce of 2 ranks through comm_hccl_sim against OpenMPI, and between two emulated hosts against the wire:
#   benchmarks/comm.sh [--json] [--case NAME] [--rounds N]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${TENON_BUILD_DIR:-$root/build/release}
[ -f "$build/build.ninja" ] || cmake --preset release -S "$root" >/dev/null
cmake --build "$build" --target comm_bench >&2
cmake --build "$build" --target comm_mpi >&2 || echo "comm.sh: no mpicxx.openmpi (libopenmpi-dev): only this side is measured" >&2
exec python3 "$root/benchmarks/comm.py" "$build/benchmark_bin" "$@"
