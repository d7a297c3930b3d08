#!/usr/bin/env bash
# Installs the vendor package into a temporary folder and works with nothing else: builds the skeleton there, runs the kit
# on it, and does what the guide says.
#
#   tests/abi/plugin_sdk.sh <cmake> <build folder>
set -euo pipefail
cmake=$1
build=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "plugin_sdk: $1"; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "failed: $*"; }; }

quietly "$cmake" --install "$build" --component plugin_sdk --prefix "$work/sdk"
for file in README.md LICENSE include/tenon/abi/plugin.h include/tenon/sdk/sdk.h cmake/tenon_add_plugin.cmake \
    abi/make_neighbours.py skeleton/plugin.cc docs/howto/write-a-device-plugin.md docs/reference/abi.md \
    docs/reference/versioning.md bin/tenon-conform; do
  [[ -f $work/sdk/$file ]] || fail "the package lacks $file"
done
[[ -z $(find "$work/sdk" -name __pycache__) ]] || fail "the package holds compiled Python"
! grep -rIlF "$root" "$work/sdk" --exclude-dir=bin || fail "the package names the folder that it was made in"

# Away from the source, by the prefix alone.
cp -r "$work/sdk/skeleton" "$work/null"
cd "$work/null"
quietly "$cmake" -S . -B build -DCMAKE_PREFIX_PATH="$work/sdk"
quietly "$cmake" --build build
quietly "$work/sdk/bin/tenon-conform" build/device_null.so --only L0

# A newer major must not be found.
mkdir "$work/major" && cd "$work/major"
printf 'cmake_minimum_required(VERSION 3.16)\nproject(x LANGUAGES CXX)\nfind_package(TenonPluginApi 2.0 CONFIG REQUIRED)\n' >CMakeLists.txt
! "$cmake" -S . -B build -DCMAKE_PREFIX_PATH="$work/sdk" >"$work/log" 2>&1 || fail "version 2.0 was found"

PATH=$build/bin:$PATH quietly "$root/scripts/run_guide.sh" "$work/sdk/docs/howto/write-a-device-plugin.md" "SDK=$work/sdk"
echo "plugin_sdk: ok"
