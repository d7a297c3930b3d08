#!/usr/bin/env bash
# Images by folder, per core: decode, random resized crop 224, flip, normalise; Tenon against the torchvision that --python
# imports, interleaved. Makes its own folder of photo-like JPEG files.
#   benchmarks/data_loading.sh --python PY [--images N] [--rounds R] [--json]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${TENON_BUILD_DIR:-$root/build/release}
if [ ! -x "$build/benchmark_bin/image_loading" ]; then
  cmake --preset release -S "$root" >/dev/null
  cmake --build "$build" --target image_loading >&2
fi
exec python3 "$root/benchmarks/data_loading.py" --bin "$build/benchmark_bin" "$@"
