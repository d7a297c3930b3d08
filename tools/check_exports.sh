#!/usr/bin/env bash
# Every plugin exports tenon_plugin_query_v1 and nothing else: leaked symbols let two plugins share each other's code.
#
#   tools/check_exports.sh FOLDER_OR_FILE...
set -euo pipefail
[[ $# -gt 0 ]] || { echo "usage: check_exports.sh FOLDER_OR_FILE..." >&2; exit 2; }

plugins=()
for argument in "$@"; do
  if [[ -d $argument ]]; then
    while IFS= read -r file; do plugins+=("$file"); done < <(find "$argument" -name '*.so' | sort)
  else
    plugins+=("$argument")
  fi
done
[[ ${#plugins[@]} -gt 0 ]] || { echo "check_exports: skipped, no plugin in $*"; exit 77; }

bad=0
for plugin in "${plugins[@]}"; do
  exported=$(nm -D --defined-only "$plugin" | awk '{print $NF}' | sed 's/@.*//' | sort | tr '\n' ' ')
  if [[ $exported == "tenon_plugin_query_v1 " ]]; then
    echo "ok       $plugin"
  else
    echo "WRONG    $plugin exports: ${exported:-nothing}"
    bad=1
  fi
done
exit $bad
