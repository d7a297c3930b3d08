#!/usr/bin/env bash
# Copies plugin_api and the skeleton out of the tree, builds the copy as its README says, and looks at the result.
set -euo pipefail
cmake=${1:-cmake}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -r "$root/plugin_api" "$work/api"
cp -r "$root/tests/fixtures/device_null" "$work/npu"
cd "$work/npu"
sed -i 's/org.tenon.device_null/com.example.npu/; s/device_null/example_npu/g; s/NullPlugin/NpuPlugin/g' \
  plugin.cc CMakeLists.txt
fail() { echo "outside_tree: $1"; exit 1; }

# try <compiler>: builds with it and checks the library.
try() {
  local plugin=build-$1/example_npu.so exports symbols dynamic segments notes texts
  "$cmake" -S . -B "build-$1" -DTenonPluginApi_DIR="$work/api/cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$1" >configure.log 2>&1 || { cat configure.log; exit 1; }
  "$cmake" --build "build-$1" >build.log 2>&1 || { cat build.log; exit 1; }

  exports=$(nm -D --defined-only "$plugin" | awk '{print $3}')
  [[ $exports == tenon_plugin_query_v1 ]] || fail "$1: exports: $exports"
  symbols=$(readelf -Ws "$plugin")
  ! grep -q ' UNIQUE ' <<<"$symbols" || fail "$1: has a unique symbol"
  dynamic=$(readelf -dW "$plugin")
  grep -q BIND_NOW <<<"$dynamic" || fail "$1: is not bound at load time"
  ! grep -vF 'runpath: [$ORIGIN]' <<<"$dynamic" | grep -E 'TEXTREL|STATIC_TLS|RPATH|RUNPATH' || fail "$1: should not have that"
  segments=$(readelf -lW "$plugin")
  grep -q GNU_RELRO <<<"$segments" || fail "$1: has no RELRO segment"
  notes=$(readelf -nW "$plugin" 2>/dev/null)
  grep -q 'Tenon' <<<"$notes" || fail "$1: has no note"
  grep -q 'Build ID: [0-9a-f]\{40\}' <<<"$notes" || fail "$1: has no build id"
  texts=$(strings -a "$plugin")
  grep -qx 'com.example.npu' <<<"$texts" || fail "$1: the note does not hold the new id"
}

for compiler in g++ clang++; do
  if command -v "$compiler" >/dev/null; then
    try "$compiler"
  else
    echo "outside_tree: $compiler is not installed, skipped"
  fi
done
echo "outside_tree: ok"
