#!/usr/bin/env bash
# Kills a program at random moments while it saves a checkpoint over the same name, and checks each time that the
# checkpoint loads, is one whole save, never falls back behind an earlier one, and that the leftovers are cleaned up.
#
#   scripts/crash_save.sh [--times N] [--program FILE] [--seed N]
#
# Ends with "N/N loadable"; the exit code is 0 only then. Without --program the test program crash_saver of a build
# folder below build/ is used, and built when there is none.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

times=50
program=
seed=$$
while [[ $# -gt 0 ]]; do
  case "$1" in
    --times) times=${2:?"crash_save.sh: --times needs a number"}; shift 2 ;;
    --program) program=${2:?"crash_save.sh: --program needs a file"}; shift 2 ;;
    --seed) seed=${2:?"crash_save.sh: --seed needs a number"}; shift 2 ;;
    --help | -h) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "crash_save.sh: unknown argument '$1'" >&2; exit 2 ;;
  esac
done

if [[ -z $program ]]; then
  for preset in ci dev release; do
    if [[ -x $root/build/$preset/tests/crash_saver ]]; then
      program=$root/build/$preset/tests/crash_saver
      break
    fi
  done
fi
if [[ -z $program ]]; then
  (cd "$root" && cmake --preset ci && cmake --build --preset ci --target crash_saver) >&2
  program=$root/build/ci/tests/crash_saver
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
RANDOM=$((seed % 32768))
echo "seed $seed"

good=0
last=0
for ((i = 1; i <= times; ++i)); do
  "$program" save "$folder" 2>>"$folder/errors" &
  saver=$!
  # The first save of all must be done before there is anything to lose.
  while [[ $last -eq 0 && ! -e $folder/net-1_1.ckpt ]] && kill -0 "$saver" 2>/dev/null; do sleep 0.01; done
  sleep "0.$(printf '%03d' $((RANDOM % 200 + 10)))"
  kill -9 "$saver" 2>/dev/null || true
  wait "$saver" 2>/dev/null || true
  if number=$("$program" check "$folder") && [[ $number -ge $last ]]; then
    good=$((good + 1))
    last=$number
  else
    echo "kill $i: not loadable (the last good one was save $last)" >&2
  fi
done
echo "$last saves"
echo "$good/$times loadable"
[[ $good -eq $times ]]
