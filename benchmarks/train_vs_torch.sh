#!/usr/bin/env bash
# Trains the same network in Tenon and in the PyTorch that --python imports, interleaved; see --help.
#   benchmarks/train_vs_torch.sh --python PY [--case NAME] [--dtype fp32|bf16|high] [--batch N] [--threads N] [--peer best|default] [--rounds R] [--json]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${TENON_BUILD_DIR:-$root/build/release}
if [ ! -x "$build/benchmark_bin/train_step" ]; then
  cmake --preset release -S "$root" >/dev/null
  cmake --build "$build" --target train_step device_cpu >&2
fi
exec python3 "$root/benchmarks/train_vs_torch.py" --bin "$build/benchmark_bin" "$@"
