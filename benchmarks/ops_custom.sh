#!/usr/bin/env bash
# Operators of plugins/ops_custom on one thread against the standard operators that compute the same, interleaved, and CTC loss
# and deformable convolution against the PyTorch and torchvision that --python imports.
#   benchmarks/ops_custom.sh [--python PY] [--case NAME] [--rounds N] [--repeats N] [--json]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${TENON_BUILD_DIR:-$root/build/release}
if [ ! -x "$build/benchmark_bin/ops_custom_speed" ]; then
  cmake --preset release -S "$root" >/dev/null
  cmake --build "$build" --target ops_custom_speed >&2
fi
exec python3 "$root/benchmarks/ops_custom.py" --bin "$build/benchmark_bin" "$@"
