#!/usr/bin/env bash
# scripts/setup.sh with a pretended system: what it does when nothing is missing, as root, with sudo and with neither.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT

for program in bash env sed; do ln -s "$(command -v $program)" "$box/$program"; done
printf '#!/bin/bash\n[[ "${*: -1}" != "$FAKE_MISSING" ]] && echo -n "install ok installed" || exit 1\n' >"$box/dpkg-query"
printf '#!/bin/bash\necho "apt-get $*" >>"$FAKE_LOG"\n' >"$box/apt-get"
printf '#!/bin/bash\necho "$FAKE_UID"\n' >"$box/id"
printf '#!/bin/bash\necho "sudo $*" >>"$FAKE_LOG"\n"$@"\n' >"$box/sudo.off"
chmod +x "$box"/dpkg-query "$box"/apt-get "$box"/id "$box"/sudo.off

# setup <uid> <missing package or -> [argument]: fills $output, $code and $log.
setup() {
  rm -f "$box/log"
  code=0
  output=$(env -i PATH="$box" FAKE_UID="$1" FAKE_MISSING="$2" FAKE_LOG="$box/log" bash "$root/scripts/setup.sh" "${@:3}" 2>&1) || code=$?
  log=$(cat "$box/log" 2>/dev/null || true)
}
expect() { [[ $1 == *"$2"* ]] || { echo "FAILED: expected '$2' in: $1"; exit 1; }; }
expect_code() { [[ $code -eq $1 ]] || { echo "FAILED: exit code $code, expected $1: $output"; exit 1; }; }

setup 1000 -
expect_code 0
[[ -z $output$log ]] || { echo "FAILED: nothing was missing, yet: $output $log"; exit 1; }

setup 0 libdnnl-dev
expect_code 0
expect "$output" "missing packages: libdnnl-dev"
expect "$log" "install -y --no-install-recommends -o DPkg::Lock::Timeout=300 libdnnl-dev"

setup 1000 libdnnl-dev
expect_code 1
expect "$output" "apt-get update && apt-get install -y"
[[ -z $log ]] || { echo "FAILED: without rights it called: $log"; exit 1; }

mv "$box/sudo.off" "$box/sudo"
setup 1000 clang --tests
expect_code 0
expect "$output" "through sudo"
expect "$log" "sudo env DEBIAN_FRONTEND=noninteractive apt-get install"

setup 1000 - --nonsense
expect_code 2
echo "setup.sh: ok"
