#!/usr/bin/env python3
"""Makes the two neighbours of today's ABI, for the tests that load plugins across minors:

  <out>/older/{include,cmake}   the last member of every growable struct and vtable cut off
  <out>/newer/{include,cmake}   one optional member appended to each; minor one higher

Both keep today's header hash, so that sizes and slots are what is tested. They are complete plugin_api folders: build a
plugin with -DTenonPluginApi_DIR=<out>/older/cmake. Lines of the sdk that end in "// last member" fill such a member and
are left out of the older one.
"""
import pathlib
import re
import shutil
import sys

import abi_headers

ADDED = "neighbour_added"
ADDED_SLOT = """
  /* Exists only in this neighbour.
   * @since 1.1 @threads T3 @blocks never @async no @own nothing is passed @null nothing is passed @errors none
   * @reentrant yes @capture no @shutdown no @fork never @fallback nobody calls it @idempotent yes */
  int32_t (*%s)(tenon_error* error);""" % ADDED
ADDED_FIELD = "\n  uint64_t %s; /* optional */" % ADDED


def struct_body(text, name):
    """Match of the struct's definition; group 2 is the body."""
    match = re.search(r"((?:typedef )?struct %s \{)(.*?)(\n\}(?: %s)?;)" % (name, name), text, re.DOTALL)
    if not match:
        raise SystemExit("cannot find struct " + name)
    return match


def last_member_start(body, member):
    """Where the text of the last member starts, comment above included."""
    code = r"[^;/]*\(\*%s\)\([^;]*\);" % member.name if member.is_slot else r"\n[^;/\n]*\b%s(\[\w+\])?;" % member.name
    found = list(re.finditer(code, body))[-1]
    start = found.start()
    above = body[:start].rstrip()
    if member.is_slot and above.endswith("*/"):
        start = len(body[:above.rindex("/*")].rstrip())
    return start


def older_header(text, structs):
    for struct in structs:
        match = struct_body(text, struct.name)
        body = match.group(2)
        body = body[:last_member_start(body, struct.members[-1])].rstrip()
        text = text[:match.start(2)] + body + text[match.end(2):]
    return text


def newer_header(text, structs):
    for struct in structs:
        match = struct_body(text, struct.name)
        added = ADDED_SLOT if struct.members[-1].is_slot else ADDED_FIELD
        text = text[:match.end(2)] + added + text[match.end(2):]
    return text


def older_sdk(text, cut):
    text = re.sub(r"\n[^\n]*[;}]  // last member(?=\n)", "", text)
    for struct, member in cut:
        text = re.sub(r"TENON_HAS_FIELD\((\w+), %s, %s\) \? \1->%s : ([^;]+);" % (struct, member, member), r"\2;", text)
    return text


def newer_version(text):
    def next_minor(match):
        return match.group(1) + str(int(match.group(2)) + 1)
    return re.sub(r"(#define TENON_ABI_MINOR )(\d+)", next_minor, text)


def write_tree(out, edit_abi, edit_sdk):
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(abi_headers.ROOT.parent / "cmake", out / "cmake")
    source = abi_headers.INCLUDE / "tenon"
    for folder, edit in (("abi", edit_abi), ("sdk", edit_sdk)):
        target = out / "include" / "tenon" / folder
        target.mkdir(parents=True)
        for header in sorted((source / folder).glob("*.h")):
            (target / header.name).write_text(edit(header.name, header.read_text()))


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if "--help" in sys.argv else 2
    out = pathlib.Path(sys.argv[1])
    api = abi_headers.read()
    growable = [s for s in api.structs.values() if s.growable]
    cut = [(s.name, s.members[-1].name) for s in growable]

    def of(header):
        return [s for s in growable if s.header == header]
    write_tree(out / "older", lambda name, text: older_header(text, of(name)), lambda name, text: older_sdk(text, cut))
    write_tree(out / "newer",
               lambda name, text: newer_version(text) if name == "version.h" else newer_header(text, of(name)),
               lambda name, text: text)
    print("%s: neighbours written, %d structs each" % (out, len(growable)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
