#!/usr/bin/env bash
# Configures, builds and tests the plugin.
#
#   ./build.sh [release|debug|clang]
set -euo pipefail
cd "$(dirname "$0")"
preset=${1:-release}
cmake --preset "$preset"
cmake --build --preset "$preset" --parallel
ctest --preset "$preset"
