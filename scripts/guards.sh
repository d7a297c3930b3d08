#!/usr/bin/env bash
# Breaks each guard of the repository in a scratch copy and expects its check to fail. A check must also pass on the
# unbroken copy first. Prints a table; exits 1 when a check let something through.
#
#   scripts/guards.sh [--keep]       --keep leaves the scratch copy and says where it is
#
# Needs a compiler and CMake, no build of the repository: the plugin that is tested is the copy-me skeleton, built
# from the scratch copy alone.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

keep=
case "${1:-}" in
  "") ;;
  --keep) keep=1 ;;
  --help | -h) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "guards.sh: unknown argument '$1'" >&2; exit 2 ;;
esac

scratch=$(mktemp -d "${TMPDIR:-/tmp}/tenon_guards.XXXXXX") || exit 1
finish() { if [[ $keep ]]; then echo "scratch copy: $scratch"; else rm -rf "$scratch"; fi; }
trap finish EXIT

copy_tree() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z | while IFS= read -r -d '' file; do [[ -f $file ]] && printf '%s\0' "$file"; done
  else
    find . -path ./build -prune -o -path ./.git -prune -o -path ./runs -prune -o -type f -print0
  fi | tar --null -T - -cf - | tar -xf - -C "$1"
}
mkdir "$scratch/clean"
copy_tree "$scratch/clean" || { echo "guards.sh: copying the tree failed" >&2; exit 1; }

bad=0
count=0
row() { printf '%-18s %-58s %s\n' "$1" "$2" "$3"; }
row GUARD "WHAT WAS BROKEN" RESULT

# guard <name> <what is broken> <check> <break>: check and break are functions that run inside a copy of the tree.
guard() {
  local name=$1 what=$2 check=$3 break=$4 tree="$scratch/$1"
  count=$((count + 1))
  cp -r "$scratch/clean" "$tree"
  if ! (cd "$tree" && "$check") >"$scratch/$name.before" 2>&1; then
    row "$name" "$what" "FAULT: fails on the unbroken tree"
    sed 's/^/    /' "$scratch/$name.before" | tail -15
    bad=1
  elif ! (cd "$tree" && "$break") >"$scratch/$name.break" 2>&1; then
    row "$name" "$what" "FAULT: nothing was there to break"
    sed 's/^/    /' "$scratch/$name.break" | tail -5
    bad=1
  elif (cd "$tree" && "$check") >"$scratch/$name.after" 2>&1; then
    row "$name" "$what" "FAULT: not noticed"
    bad=1
  else
    row "$name" "$what" "caught"
  fi
  [[ $keep ]] || rm -rf "$tree"
}

check_layers() { python3 tools/check_layers.py; }
break_layers() { sed -i '1i #include "core/exec/program.h"' core/tensor/shape.h; }

check_plugin_alone() { python3 tools/check_layers.py; }
break_plugin_alone() { local file; file=$(find plugins/device_cpu -name '*.cc' -print -quit) && sed -i '1i #include "core/base/status.h"' "$file"; }

check_vendor_words() { tools/check_vendor_words.sh; }
break_vendor_words() { echo '// Calls cuda_stream_create.' >>core/tensor/shape.h; }

check_tests() { tools/check_tests.sh; }
break_tests() { sed -i '/thread_pool_test/d' tests/unit/base/CMakeLists.txt; }

# The skeleton plugin, configured from outside the tree as a vendor would.
build_skeleton() {
  cmake -S tests/fixtures/device_null -B skeleton -G Ninja -DTenonPluginApi_DIR="$PWD/plugin_api/cmake" &&
    cmake --build skeleton
}
check_exports() { build_skeleton && tools/check_exports.sh skeleton; }
break_exports() {
  local script
  cat >>tests/fixtures/device_null/plugin.cc <<'CC'
extern "C" __attribute__((visibility("default"))) int second_symbol(void);
extern "C" int second_symbol(void) { return 1; }
CC
  script=$(grep -rlE 'tenon_plugin_query_v1;' plugin_api/cmake | head -1) && sed -i 's/tenon_plugin_query_v1;/tenon_plugin_query_v1; second_symbol;/' "$script"
}

check_contracts() { python3 tools/check_abi.py contracts; }
break_contracts() { edit_header stream.h '@threads T3 @blocks never' '@blocks never'; }

check_reference() { python3 plugin_api/abi/reference.py --check docs/reference/abi.md; }
break_reference() { edit_header stream.h '@threads T3 @blocks never' '@threads T2 @blocks never'; }

check_layout() { python3 tools/check_abi.py layout; }
break_layout_swap() {
  edit_header stream.h '(*event_record)' '(*swapped)' && edit_header stream.h '(*event_query)' '(*event_record)' &&
    edit_header stream.h '(*swapped)' '(*event_query)'
}
break_layout_shift() {
  edit_header stream.h '  int32_t (*stream_query)' '  void (*shifts_the_rest)(tenon_stream* stream);
  int32_t (*stream_query)'
}
# The last slot becomes the first: every name is still there.
break_layout_move() {
  edit_header memory.h '  int32_t (*trim)(tenon_space* space, tenon_error* error);
' '' && edit_header memory.h '  int32_t (*alloc)' '  int32_t (*trim)(tenon_space* space, tenon_error* error);
  int32_t (*alloc)'
}
break_layout_grow() { edit_header memory.h '  uint64_t row_bytes;' '  uint64_t grown;
  uint64_t row_bytes;'; }
break_layout_cut() { edit_header stream.h '  tenon_str name;' ''; }

check_constants() { python3 tools/check_abi.py constants; }
break_constants() { edit_header stream.h 'TENON_STREAM_COPY = 2' 'TENON_STREAM_COPY = 4'; }

check_hash() { python3 tools/check_abi.py hash; }
break_hash() { edit_header stream.h '#endif' '/* one comment more */
#endif'; }

# edit_header <header> <old> <new>: replaces the first occurrence; fails when there is none.
edit_header() {
  python3 -c '
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
if old not in text:
    sys.exit(f"{path} does not hold {old!r}")
open(path, "w").write(text.replace(old, new, 1))' "plugin_api/include/tenon/abi/$1" "$2" "$3"
}

# A program that links nothing special stands for the tenon program.
check_links() {
  echo 'int main() {}' >main.cc && g++ main.cc -o program -Wl,--no-as-needed $(cat extra_library 2>/dev/null) &&
    tools/check_links.sh program
}
break_links() { echo -ldnnl >extra_library; }

check_face() { python3 tools/check_face.py ./program.sh; }
face_program() {
  cat >program.sh <<'SH'
#!/bin/sh
case "$*" in
  --help) echo usage ;;
  "--help --json") echo '{"flags": [{"name": "--seed", "type": "integer", "default": 1, "sentence": "Start."}]}' ;;
  --version) echo 1.2.3 ;;
  "--version --json") echo '{"version": "1.2.3"}' ;;
  *) exit 2 ;;
esac
SH
  chmod +x program.sh
}
check_face_flags() { [[ -f program.sh ]] || face_program; check_face; }
break_face_flags() { sed -i 's/"sentence": "Start."/"sentence": ""/' program.sh; }

guard layers "core/tensor includes core/exec" check_layers break_layers
guard plugin_alone "plugins/device_cpu includes core/base" check_plugin_alone break_plugin_alone
guard vendor_words "a comment in core/ names a vendor" check_vendor_words break_vendor_words
guard tests "a test program is in no list" check_tests break_tests
guard exports "a plugin exports a second symbol" check_exports break_exports
guard contracts "a slot loses a field of its contract" check_contracts break_contracts
guard reference "a contract changes, the reference page does not" check_reference break_reference
guard layout_swap "two slots of a vtable are swapped" check_layout break_layout_swap
guard layout_shift "a slot is inserted in mid-vtable" check_layout break_layout_shift
guard layout_move "a slot moves within its vtable" check_layout break_layout_move
guard layout_grow "a struct grows in the middle" check_layout break_layout_grow
guard layout_cut "a field of a struct is removed" check_layout break_layout_cut
guard constants "an enumerator changes its value" check_constants break_constants
guard hash "a header changes without a new draft hash" check_hash break_hash
guard links "the tenon program links a vendor library" check_links break_links
guard face "a program describes a flag with an empty sentence" check_face_flags break_face_flags

echo "guards.sh: $count guards, $([[ $bad -eq 0 ]] && echo 'each was seen failing' || echo 'see FAULT above')"
exit $bad
