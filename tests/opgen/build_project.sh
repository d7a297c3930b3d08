#!/usr/bin/env bash
# Makes a project of a file of operators, builds it untouched with warnings as errors, and runs its tests.
#
#   build_project.sh MSOPGEN FILE.json COMPILER
set -euo pipefail
msopgen=$1 file=$2 compiler=$3
if ! command -v "$compiler" >/dev/null; then
  echo "build_project: skipped, $compiler is not installed"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
project=$work/project_of_$(basename "$file" .json)
# Equal files of different projects are compiled once.
export CCACHE_BASEDIR=$project CCACHE_NOHASHDIR=1
"$msopgen" gen -i "$file" -c cpu,npu -out "$project"
cmake -S "$project" -B "$project/build" -DCMAKE_BUILD_TYPE=Debug -DTENON_WERROR=ON -DCMAKE_CXX_COMPILER="$compiler" \
  $(command -v ccache >/dev/null && echo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache) >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$project/build" --parallel 2 >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
ctest --test-dir "$project/build" --output-on-failure
"$msopgen" test "$project" -out "$work/report"
python3 - "$work/report/st_report.json" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
assert report and all(entry["failed"] == 0 and entry["passed"] > 0 for entry in report), report
END
