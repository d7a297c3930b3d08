#!/usr/bin/env bash
# How much faster two processes train than one, and what the overlap of communication gains; see --help.
#   benchmarks/dp_scaling.sh [--case NAME] [--pairs N] [--priority realtime|normal] [--json]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${TENON_BUILD_DIR:-$root/build/release}
if [ ! -x "$build/bin/tenon" ] || [ ! -e "$build/lib/tenon/plugins/comm_hccl_sim.so" ]; then
  cmake --preset release -S "$root" >/dev/null
  cmake --build "$build" --target tenon tenon_rendezvous device_cpu comm_hccl_sim >&2
fi
exec python3 "$root/benchmarks/dp_scaling.py" --bin "$build/bin" "$@"
