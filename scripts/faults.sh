#!/usr/bin/env bash
# Breaks things on purpose in runs of several processes, and checks what follows and how soon.
#
#   scripts/faults.sh [--only K[,K...]] [--repeat N] [--build FOLDER] [--list]
#
# K is the number or the name of a fault, as --list prints them. Two hosts are emulated by network namespaces, which needs
# root and the packages iproute2 and nftables; a fault that cannot run here says why. Without --build the first built
# folder of build/ci, build/dev and build/release is used.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

arguments=()
build=
while [[ $# -gt 0 ]]; do
  case "$1" in
    --only | --repeat) arguments+=("$1" "${2:?"faults.sh: $1 needs a value"}"); shift 2 ;;
    --build) build=${2:?"faults.sh: --build needs a folder"}; shift 2 ;;
    --list) arguments+=(--list); shift ;;
    --help | -h) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "faults.sh: unknown argument '$1'" >&2; exit 2 ;;
  esac
done

if [[ -z $build ]]; then
  for preset in ci dev release; do
    [[ -x $root/build/$preset/bin/msrun ]] && build=$root/build/$preset && break
  done
fi
if [[ -z $build ]]; then
  echo "faults.sh: no build with msrun below build/; build one, or name it with --build" >&2
  exit 2
fi
exec python3 "$root/tests/faults/run.py" --build "$build" "${arguments[@]}"
