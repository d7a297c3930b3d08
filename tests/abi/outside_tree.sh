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
"$cmake" -S . -B build -DTenonPluginApi_DIR="$work/api/cmake" -DCMAKE_BUILD_TYPE=Release >configure.log 2>&1 ||
  { cat configure.log; exit 1; }
"$cmake" --build build >build.log 2>&1 || { cat build.log; exit 1; }
plugin=build/example_npu.so

fail() { echo "outside_tree: $1"; exit 1; }
exports=$(nm -D --defined-only "$plugin" | awk '{print $3}')
[[ $exports == tenon_plugin_query_v1 ]] || fail "exports: $exports"
symbols=$(readelf -Ws "$plugin")
! grep -q ' UNIQUE ' <<<"$symbols" || fail "has a unique symbol"
dynamic=$(readelf -dW "$plugin")
grep -q BIND_NOW <<<"$dynamic" || fail "is not bound at load time"
! grep -qE 'TEXTREL|STATIC_TLS|RPATH|RUNPATH' <<<"$dynamic" || fail "$(grep -E 'TEXTREL|STATIC_TLS|RPATH|RUNPATH' <<<"$dynamic")"
segments=$(readelf -lW "$plugin")
grep -q GNU_RELRO <<<"$segments" || fail "has no RELRO segment"
notes=$(readelf -nW "$plugin" 2>/dev/null)
grep -q 'Tenon' <<<"$notes" || fail "has no note"
grep -q 'Build ID: [0-9a-f]\{40\}' <<<"$notes" || fail "has no build id"
texts=$(strings -a "$plugin")
grep -qx 'com.example.npu' <<<"$texts" || fail "the note does not hold the new id"
echo "outside_tree: ok"
