#!/usr/bin/env bash
# Builds a preset and runs its tests.
#
#   scripts/test.sh [--preset dev|release|ci|asan|tsan|ubsan] [--label LABEL] [--jobs N] [--onednn DIR]
#
# The default preset is ci. LABEL is a first folder below tests/ (unit, ops, passes, errors, e2e, abi, checks ...).
# DIR is an installation of oneDNN to build against in place of the system's.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=ci
label=
jobs=$(nproc)
onednn=
while [[ $# -gt 0 ]]; do
  case "$1" in
    --preset) preset=${2:?"test.sh: --preset needs a name"}; shift 2 ;;
    --label) label=${2:?"test.sh: --label needs a name"}; shift 2 ;;
    --jobs) jobs=${2:?"test.sh: --jobs needs a number"}; shift 2 ;;
    --onednn) onednn=$(realpath "${2:?"test.sh: --onednn needs a folder"}"); shift 2 ;;
    --help | -h) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "test.sh: unknown argument '$1'" >&2; exit 2 ;;
  esac
done

scripts/setup.sh --tests
cmake --preset "$preset" -DTENON_BUILD_TESTS=ON -DTENON_ONEDNN_ROOT="$onednn"
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
