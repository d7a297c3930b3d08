#!/usr/bin/env bash
# Tracked files hold no unfinished-work marks, no home folders, no large or generated files.
#
#   tools/check_texts.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  echo "check_texts: skipped, this is not a git checkout"
  exit 77
fi

bad=0
marks='\b(TO''DO|FIX''ME|XX''X)\b|(/ho''me|/ro''ot|/wo''rk)/[a-z]'
if git grep -nIE "$marks" -- ':!LICENSE'; then
  echo "check_texts: the lines above hold marks of unfinished work or folders of one machine" >&2
  bad=1
fi
if git ls-files | grep -E '(^|/)(__pycache__|\.ipynb_checkpoints|CMakeCache\.txt)(/|$)|\.(o|a|so|pyc)$'; then
  echo "check_texts: the files above are generated" >&2
  bad=1
fi
while IFS= read -r file; do
  if [[ -f $file && $(stat -c %s "$file") -gt 1048576 ]]; then
    echo "check_texts: $file is larger than 1 MiB" >&2
    bad=1
  fi
done < <(git ls-files)
exit $bad
