#!/usr/bin/env bash
# Compiles core/, the programs and the plugins with clang, syntax only: code there must build with both compilers.
#
#   tools/check_clang.sh BUILD_FOLDER
#
# Reads compile_commands.json. A file whose sources have not changed since it last passed is not compiled again.
set -euo pipefail
build=${1:?"usage: check_clang.sh BUILD_FOLDER"}
clang=$(command -v clang++-14 || command -v clang++ || true)
if [[ -z $clang ]]; then
  echo "check_clang: skipped, clang is not installed"
  exit 77
fi
exec python3 "$(dirname "$0")/check_clang.py" "$clang" "$build"
