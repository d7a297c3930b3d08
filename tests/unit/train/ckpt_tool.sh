#!/usr/bin/env bash
# `tenon ckpt show` and `tenon ckpt diff`: exit codes and outputs.
#   ckpt_tool.sh TENON CRASH_SAVER
set -euo pipefail
tenon=$1
saver=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
  echo "ckpt_tool.sh: $*" >&2
  exit 1
}
expect_code() {  # expect_code CODE COMMAND...
  local wanted=$1 code=0
  shift
  "$@" >out 2>err || code=$?
  [[ $code -eq $wanted ]] || fail "'$*' ended with $code, not $wanted: $(cat out err)"
}

"$saver" write a.ckpt 1
"$saver" write same.safetensors 1
"$saver" write b.ckpt 1.5

expect_code 0 "$tenon" ckpt show a.ckpt
grep -q '^a.ckpt: ckpt, [0-9]* bytes, checksum right, written by tenon ' out || fail "$(cat out)"
grep -q 'w0 .*float32\[6\] .*min 1  max 1  mean 1' out || fail "$(cat out)"
expect_code 0 "$tenon" ckpt show --json a.ckpt
python3 - <<'PY'
import json
shown = json.load(open("out"))
assert shown["format"] == "ckpt" and shown["checksum"] is True, shown
tensor = shown["tensors"][0]
assert (tensor["name"], tensor["dtype"], tensor["shape"], tensor["mean"]) == ("w0", "float32", [6], 1.0), tensor
assert {t["name"]: t.get("value") for t in shown["tensors"]}["epoch_num"] == 1
assert len(shown["weights_sha256"]) == 64
PY

expect_code 0 "$tenon" ckpt diff a.ckpt a.ckpt
expect_code 0 "$tenon" ckpt diff a.ckpt same.safetensors
expect_code 1 "$tenon" ckpt diff a.ckpt b.ckpt
grep -q 'w0: float32\[6\], 6 of 6 values differ, by up to 0.5 (relative 0.333); first at \[0\]: 1 and 1.5' out || fail "$(cat out)"
expect_code 1 "$tenon" ckpt diff --atol 0.4 a.ckpt b.ckpt
expect_code 0 "$tenon" ckpt diff --atol 0.5 a.ckpt b.ckpt
expect_code 0 "$tenon" ckpt diff --rtol 0.34 a.ckpt b.ckpt
expect_code 1 "$tenon" ckpt diff --json a.ckpt b.ckpt
python3 -c 'import json; d = json.load(open("out")); assert not d["equal"] and d["different"][0]["max_abs"] == 0.5, d'

head -c 100 a.ckpt >cut.ckpt
expect_code 2 "$tenon" ckpt show cut.ckpt
grep -q "cut.ckpt" err || fail "$(cat err)"
expect_code 2 "$tenon" ckpt diff a.ckpt cut.ckpt
expect_code 2 "$tenon" ckpt show none.ckpt
expect_code 2 "$tenon" ckpt diff a.ckpt
expect_code 2 "$tenon" ckpt show a.txt
