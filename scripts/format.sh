#!/usr/bin/env bash
# Formats the C and C++ files of the repository in place with clang-format 14.
set -euo pipefail
cd "$(dirname "$0")/.."
exec tools/check_format.sh --fix
