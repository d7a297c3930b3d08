#!/usr/bin/env bash
# The example learns its two classes: example_test.sh PROGRAM
set -euo pipefail
out=$("$1" 300)
echo "$out"
for line in 'quadrant 1: class 1' 'quadrant 2: class 0' 'quadrant 3: class 1' 'quadrant 4: class 0'; do
  grep -qx "$line" <<<"$out" || { echo "expected '$line'" >&2; exit 1; }
done
