#!/usr/bin/env bash
# What the profiler of device_cpu costs a LeNet-5 step, one thread: not offered, offered but not asked for, and in use.
#   benchmarks/profile_cost.sh [--mode graph|pynative] [--rounds N] [--processes N]
# Prints a line of JSON per process and their medians: memory lies elsewhere in every process, which moves a step by more than
# the profiler does.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${TENON_BUILD_DIR:-$root/build/release}
mode=graph
rounds=40
processes=7
while [[ $# -gt 0 ]]; do
  case "$1" in
    --mode) mode=${2:?"profile_cost.sh: --mode needs a name"}; shift 2 ;;
    --rounds) rounds=${2:?"profile_cost.sh: --rounds needs a number"}; shift 2 ;;
    --processes) processes=${2:?"profile_cost.sh: --processes needs a number"}; shift 2 ;;
    --help | -h) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "profile_cost.sh: unknown argument '$1'" >&2; exit 2 ;;
  esac
done
[ -f "$build/build.ninja" ] || cmake --preset release -S "$root" >&2
cmake --build "$build" --target benchmark_profile >&2
for ((i = 0; i < processes; ++i)); do "$build/benchmark_bin/profile" "$mode" "$rounds"; done | tee /dev/stderr | python3 -c '
import json, statistics, sys
runs = [json.loads(line) for line in sys.stdin]
median = lambda key: statistics.median(run[key] for run in runs)
print(json.dumps({"mode": runs[0]["mode"], "processes": len(runs)} | {key: median(key) for key in
      ("without_ms", "off_ms", "on_ms", "off_longer", "on_longer")}))'
