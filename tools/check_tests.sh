#!/usr/bin/env bash
# Every test program is in a list: a CMakeLists.txt of its folder, or of one above, names <name>_test or <name>.
#
#   tools/check_tests.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

bad=0
count=0
while IFS= read -r file; do
  count=$((count + 1))
  name=$(basename "$file" .cc)
  folder=$file
  named=
  while [[ -z $named && $folder != . ]]; do
    folder=$(dirname "$folder")
    if [[ -f $folder/CMakeLists.txt ]] && grep -qwE "$name|${name%_test}" < <(sed 's/#.*//' "$folder/CMakeLists.txt"); then
      named=1
    fi
  done
  if [[ -z $named ]]; then
    echo "check_tests: no CMakeLists.txt names $file, so it is neither built nor run" >&2
    bad=1
  fi
done < <(find tests plugins -name '*_test.cc' | sort)
echo "check_tests: $count test programs"
exit $bad
