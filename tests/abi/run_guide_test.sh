#!/usr/bin/env bash
# scripts/run_guide.sh runs what it should and fails where it should.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "run_guide_test: $1"; exit 1; }

# guide <name>: a guide of the text on standard input; run <name> [NAME=VALUE]...: its exit code, output in $work/out.
guide() { cat >"$work/$1.md"; }
run() {
  local name=$1 code=0
  shift
  "$root/scripts/run_guide.sh" "$work/$name.md" "$@" >"$work/out" 2>&1 || code=$?
  echo $code
}
expect() { grep -qF -- "$1" "$work/out" || { cat "$work/out"; fail "'$1' is missing"; }; }

guide sound <<'G'
# Sound
```sh
mkdir deep && cd deep
word="it's $NAME"
```
```yaml file=a.yaml
key: 'quoted $word'
```
```text
exit 1
```
```sh fails
cd /
false
true
```
```sh
[[ $word == "it's set" ]]
grep -qF "key: 'quoted \$word'" a.yaml
[[ $PWD == */deep ]]
```
G
[[ $(run sound NAME=set) == 0 ]] || { cat "$work/out"; fail "a sound guide failed"; }
expect "== sound.md:6 a.yaml"
expect "run_guide: ok"
[[ $(run sound) != 0 ]] || fail "a variable that is missing was not seen"
[[ $(run sound NAME) == 2 ]] || fail "a setting without a value was taken"

guide broken <<'G'
```sh
true
```
Text.
```sh
false
echo after
```
G
[[ $(run broken) != 0 ]] || fail "a block that fails was not seen"
expect "failed in the block at line 5"
! grep -q after "$work/out" || fail "a block went on after a failure"

guide succeeds <<'G'
```sh fails
true
```
G
[[ $(run succeeds) != 0 ]] || fail "a block that should have failed was not seen"
expect "should have failed"

printf '```sh\ntrue\n' | guide open
[[ $(run open) != 0 ]] || fail "a block without an end was not seen"
echo "run_guide_test: ok"
