#!/usr/bin/env python3
"""Rewrites what is derived from the ABI headers; run it after every change of a header and read the diff.

  version.h      hash of the other headers
  layout.txt     size, alignment and members of every struct
  constants.txt  enumerators, macros, function types, exported symbols
  ledger.txt     first minor of every slot, field and enumerator (new ones get today's minor)
  abi.md         the reference page in docs/reference, where there is such a folder
"""
import argparse
import re
import sys

import abi_headers
import layout
import reference


def with_hash(text, value):
    """version.h with both hash constants replaced."""
    octets = ", ".join("0x" + value[i:i + 2] for i in range(0, 40, 2))
    text = re.sub(r'(#define TENON_ABI_HEADER_HASH_HEX ).*', r'\g<1>"%s"' % value, text)
    return re.sub(r"#define TENON_ABI_HEADER_HASH_BYTES.*?(?=#endif)",
                  lambda _: "#define TENON_ABI_HEADER_HASH_BYTES \\\n  %s\n" % octets, text, flags=re.DOTALL)


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        print("%s: updated" % path.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cc", default="cc", help="C compiler that is asked for sizes and offsets")
    arguments = parser.parse_args()

    version = abi_headers.INCLUDE / "tenon" / "abi" / "version.h"
    write(version, with_hash(version.read_text(), abi_headers.header_hash()))
    api = abi_headers.read()
    measured = layout.measure(api, abi_headers.INCLUDE, arguments.cc)
    write(abi_headers.ROOT / "layout.txt", layout.layout_text(measured, api))
    write(abi_headers.ROOT / "constants.txt", layout.constants_text(api))
    ledger = abi_headers.ROOT / "ledger.txt"
    old = layout.parse_ledger(ledger.read_text()) if ledger.exists() else {}
    minor = "%s.%s" % (api.macros["TENON_ABI_MAJOR"], api.macros["TENON_ABI_MINOR"])
    write(ledger, layout.ledger_text(api, old, minor))
    pages = abi_headers.ROOT.parent.parent / "docs" / "reference"
    if pages.is_dir():
        write(pages / "abi.md", reference.page(api))
    return 0


if __name__ == "__main__":
    sys.exit(main())
