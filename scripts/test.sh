#!/usr/bin/env bash
# Builds a preset and runs its tests.
#
#   scripts/test.sh [--preset dev|release|ci|asan|tsan|ubsan] [--label LABEL] [--jobs N]
#
# The default preset is ci. LABEL is a first folder below tests/ (unit, ops, passes, errors, e2e, abi, checks ...).
set -euo pipefail
cd "$(dirname "$0")/.."

preset=ci
label=
jobs=$(nproc)
while [[ $# -gt 0 ]]; do
  case "$1" in
    --preset) preset=${2:?"test.sh: --preset needs a name"}; shift 2 ;;
    --label) label=${2:?"test.sh: --label needs a name"}; shift 2 ;;
    --jobs) jobs=${2:?"test.sh: --jobs needs a number"}; shift 2 ;;
    --help | -h) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "test.sh: unknown argument '$1'" >&2; exit 2 ;;
  esac
done

scripts/setup.sh --tests
cmake --preset "$preset" -DTENON_BUILD_TESTS=ON
cmake --build --preset "$preset" --parallel "$jobs"

# Sanitizers fail at start where the kernel randomises addresses with many bits; setarch -R turns that off for the
# tests alone. What ThreadSanitizer needs around OpenMP libraries is in the environment of each test
# (tools/cmake/sanitizers.cmake).
launcher=()
case "$preset" in
  asan | tsan | ubsan) launcher=(setarch -R) ;;
esac
arguments=(--preset "$preset" --parallel "$jobs" --no-tests=error)
[[ -z $label ]] || arguments+=(--label-regex "^${label}\$")
exec "${launcher[@]}" ctest "${arguments[@]}"
