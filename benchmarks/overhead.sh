#!/usr/bin/env bash
# Measures what Tenon costs around kernels: benchmarks/overhead.sh [--json] [--runs N]. Medians, in nanoseconds.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${TENON_BUILD_DIR:-$root/build/release}
if [ ! -x "$build/benchmark_bin/overhead" ]; then
  cmake --preset release -S "$root" >/dev/null
  cmake --build "$build" --target overhead >&2
fi
exec "$build/benchmark_bin/overhead" "$@"
