#!/usr/bin/env bash
# tenon op build: a file that is a plugin, one that the compiler refuses, and one without the macro.
#
#   op_build.sh TENON SOURCE.cc
set -euo pipefail
tenon=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "op_build: $1"; exit 1; }

for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || { echo "op_build: $compiler is not installed, skipped"; continue; }
  "$tenon" op build "$source" -o "$work/ops_$compiler.so" --compiler "$compiler"
  "$tenon" plugin check "$work/ops_$compiler.so" || fail "$compiler: would not load"
  exports=$(nm -D --defined-only "$work/ops_$compiler.so" | awk '{print $3}')
  [[ $exports == tenon_plugin_query_v1 ]] || fail "$compiler: exports: $exports"
done

# refused <exit code> <text> <file>: nothing is left but the sources.
refused() {
  local code=0
  "$tenon" op build "$3" -o "$work/no.so" 2>"$work/err" || code=$?
  [[ $code == "$1" ]] || fail "$3 ended with $code, not $1: $(cat "$work/err")"
  grep -qF "$2" "$work/err" || fail "$3: '$2' is not in: $(cat "$work/err")"
  [[ ! -e $work/no.so ]] || fail "$3 left a library"
}
echo 'int x' >"$work/wrong.cc"
echo 'int x;' >"$work/no_note.cc"
refused 2 "wrong.cc:1:6: error: expected" "$work/wrong.cc"
refused 3 "no ABI note" "$work/no_note.cc"
refused 2 "gone.cc is no file" "$work/gone.cc"
echo "op_build: ok"
