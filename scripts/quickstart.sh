#!/usr/bin/env bash
# From a clean clone to a trained network: installs what is missing, builds the release, trains LeNet on the digits
# that ship with the repository, and ends with the accuracy on the held-out fifth.
#
#   scripts/quickstart.sh [--output DIR]       default: runs/quickstart
set -euo pipefail
cd "$(dirname "$0")/.."

output=runs/quickstart
while [[ $# -gt 0 ]]; do
  case "$1" in
    --output) output=${2:?"quickstart.sh: --output needs a folder"}; shift 2 ;;
    --help | -h) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "quickstart.sh: unknown argument '$1'" >&2; exit 2 ;;
  esac
done

scripts/setup.sh
cmake --preset release -DTENON_BUILD_TESTS=OFF
cmake --build --preset release
build/release/bin/tenon train configs/train/lenet_digits.yaml --output "$output"
python3 - "$output/summary.json" <<'PY'
import json, sys
summary = json.load(open(sys.argv[1]))
print(f"Accuracy on the held-out fifth of the digits: {summary['test_accuracy']:.4f}")
PY
