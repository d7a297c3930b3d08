#!/usr/bin/env bash
# Trains LeNet on the digits with every pair of a host and a device plugin of three minors of the ABI: the older and the newer
# neighbour of today's headers, and today. Prints the table; exit code 1 when a pair does not train to the end, or ends
# with other weights than today's host with today's plugin.
#
#   scripts/abi_matrix.sh [--preset NAME] [--epochs N] [--plugin NAME] [--built DIR] [--minors "older today newer"]
#
# Builds what it needs in build/<preset> (release), or takes what is built in DIR. --minors: only plugins of these.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release
epochs=20
plugin=device_cpu
minors="older today newer"
build=
while [[ $# -gt 0 ]]; do
  case "$1" in
    --preset) preset=${2:?"abi_matrix.sh: --preset needs a name"}; shift 2 ;;
    --epochs) epochs=${2:?"abi_matrix.sh: --epochs needs a number"}; shift 2 ;;
    --plugin) plugin=${2:?"abi_matrix.sh: --plugin needs a name"}; shift 2 ;;
    --built) build=${2:?"abi_matrix.sh: --built needs a folder"}; shift 2 ;;
    --minors) minors=${2:?"abi_matrix.sh: --minors needs a list"}; shift 2 ;;
    --help | -h) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "abi_matrix.sh: unknown argument '$1'" >&2; exit 2 ;;
  esac
done

if [[ -z $build ]]; then
  { [[ -f build/$preset/build.ninja ]] || cmake --preset "$preset"
    cmake --build --preset "$preset" --target tenon "abi_matrix_$plugin"; } >&2
  build=$PWD/build/$preset
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# File of the plugin built against the headers of a minor.
plugin_of() { if [[ $1 == today ]]; then echo "$build/lib/tenon/plugins/$plugin.so"; else echo "$build/tests/abi_matrix/$1/$plugin.so"; fi; }
# Value of a key of a run's summary.
summary() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/$1/summary.json" "$2"; }

# train <host> <plugin>: today's host opens the plugin itself; another host is played by a plugin in between.
train() {
  local host=$1 file
  file=$(plugin_of "$2")
  local opened=$file
  if [[ $host != today ]]; then opened=$build/tests/abi_matrix/host_$host/$plugin.so; fi
  TENON_SHIMMED_PLUGIN=$file "$build/bin/tenon" train configs/train/lenet_digits.yaml --output "$work/$1_$2" \
    --set device="${plugin#device_}" --set train.epochs="$epochs" --set "plugins.load=[{path: $opened, required: true}]" \
    --set "plugins.pin={org.tenon.$plugin: $opened}" >"$work/$1_$2.log" 2>&1
}

bad=0
row() { printf '%-8s %-8s %-10s %-10s %s\n' "$@"; }
row HOST PLUGIN TRAINED ACCURACY WEIGHTS
train today today || { cat "$work/today_today.log" >&2; exit 1; }
expected=$(summary today_today weights_sha256)
for host in older today newer; do
  for minor in $minors; do
    if ! [[ -d $work/${host}_$minor ]] && ! train $host $minor; then
      row $host $minor no - -
      sed 's/^/    /' "$work/${host}_$minor.log" | tail -5
      bad=1
      continue
    fi
    weights=$(summary ${host}_$minor weights_sha256)
    same=equal
    if [[ $weights != "$expected" ]]; then same="differ from today's"; bad=1; fi
    row $host $minor yes "$(printf '%.4f' "$(summary ${host}_$minor test_accuracy)")" "${weights:0:12} $same"
  done
done
exit $bad
