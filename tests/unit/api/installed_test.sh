#!/usr/bin/env bash
# Installs the build, builds the example against the installed tree alone, and runs it: installed_test.sh BUILD SOURCE CXX FLAGS
set -euo pipefail
build=$1 source=$2 compiler=$3 flags=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/tree" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mkdir "$work/program"
cp "$source/core/api/examples/train_quadrants.cc" "$work/program/"
cat >"$work/program/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.16)
project(program CXX)
find_package(Tenon CONFIG REQUIRED)
add_executable(program train_quadrants.cc)
target_compile_features(program PRIVATE cxx_std_17)
target_link_libraries(program PRIVATE Tenon::tenon)
EOF
cmake -S "$work/program" -B "$work/program/build" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" \
  -DCMAKE_PREFIX_PATH="$work/tree" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/program/build" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
bash "$source/tests/unit/api/example_test.sh" "$work/program/build/program"

"$work/tree/bin/tenon" --version
"$work/tree/bin/tenon" plugin list --json | grep -q device_cpu || { echo "the installed program finds no device_cpu" >&2; exit 1; }
