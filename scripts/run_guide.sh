#!/usr/bin/env bash
# Does what a guide says: runs its fenced blocks in order, in a temporary folder, and ends at the first that fails.
#
#   scripts/run_guide.sh GUIDE.md [NAME=VALUE]...
#
#   ```sh              runs; all of them share one shell, so that variables and the folder stay
#   ```sh fails        runs in a copy of that shell and must fail
#   ```<any> file=X    is written to the file X of the current folder
#
# Other blocks are for reading. NAME=VALUE are variables that the guide leaves to the reader. Prints each command block
# and its line.
set -euo pipefail
guide=$(realpath "${1:?usage: scripts/run_guide.sh GUIDE.md [NAME=VALUE]...}")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for setting in "$@"; do
  [[ $setting == [A-Za-z_]*=* ]] || { echo "run_guide: '$setting' is not NAME=VALUE" >&2; exit 2; }
  export "${setting?}"
done

# One shell program out of the blocks. Each says where it stands; a file is written through a quoted here-document.
awk -v guide="$(basename "$guide")" '
  function quote(text) { gsub(/\047/, "\047\\\047\047", text); return "\047" text "\047" }
  !inside && /^```/ {
    inside = 1; kind = ""; word = substr($0, 4); at = NR
    if (match(word, /file=[^ ]+/)) { kind = "file"; name = substr(word, RSTART + 5, RLENGTH - 5) }
    else if (word == "sh") kind = "sh"
    else if (word == "sh fails") kind = "fails"
    if (kind != "") print "echo " quote("== " guide ":" at (kind == "file" ? " " name : "")) "; guide_line=" at
    if (kind == "file") print "cat > " quote(name) " <<\047GUIDE_END_OF_FILE\047"
    if (kind == "fails") print "set +e; ( set -e"
    next
  }
  inside && /^```$/ {
    if (kind == "file") print "GUIDE_END_OF_FILE"
    if (kind == "fails") print ")\nguide_code=$?; set -e\nif [[ $guide_code == 0 ]]; then echo \"run_guide: the block should have failed\" >&2; exit 1; fi"
    inside = 0; next
  }
  inside && kind != "" { print }
  END { if (inside) { print "echo " quote("run_guide: the block at line " at " has no end") " >&2; exit 2" } }
' "$guide" >"$work/guide.sh"

mkdir "$work/folder"
cd "$work/folder"
bash -c 'set -euo pipefail
trap '\''code=$?; if [[ $code != 0 ]]; then echo "run_guide: failed in the block at line ${guide_line:-?} of the guide" >&2; fi'\'' EXIT
source "$1"' run_guide "$work/guide.sh"
echo "run_guide: ok"
