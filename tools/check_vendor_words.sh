#!/usr/bin/env bash
# No vendor word in core/: one there means that a plugin leaked.
#
#   tools/check_vendor_words.sh [ROOT]
set -euo pipefail
root=${1:-$(dirname "$0")/..}
cd "$root"
if grep -rniE '\b(cuda|nccl|hccl|ascend|dnnl)(_|\b)' core/; then
  echo "check_vendor_words: core/ names a vendor on the lines above; such code belongs in that vendor's plugin" >&2
  exit 1
fi
