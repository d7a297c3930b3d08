#!/usr/bin/env bash
# Checks that C and C++ files are formatted as .clang-format says; --fix formats them. Versions of clang-format differ,
# so only 14 (Debian 12) is asked; without it the check is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z $program ]] || ! "$program" --version | grep -q 'version 14\.'; then
  echo "check_format: skipped, clang-format 14 is not installed"
  exit 77
fi
list_files() {
  find core plugin_api plugins tools tests benchmarks templates -type f \
    \( -name '*.h' -o -name '*.cc' -o -name '*.c' -o -name '*.cpp' \) 2>/dev/null || true
}
mode=(--dry-run -Werror)
[[ ${1:-} == --fix ]] && mode=(-i)
list_files | sort | xargs -r -P "$(nproc)" -n 20 "$program" --style=file "${mode[@]}"
