#!/usr/bin/env python3
"""Rewrites what is derived from the ABI headers: the header hash in version.h. Run it after every change of a header."""
import hashlib
import pathlib
import re
import sys

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include" / "tenon" / "abi"


def header_hash(folder):
    """SHA-1 over all ABI headers but version.h, in name order."""
    digest = hashlib.sha1()
    for header in sorted(folder.glob("*.h")):
        if header.name != "version.h":
            digest.update(header.read_bytes())
    return digest.hexdigest()


def with_hash(text, value):
    """version.h with both hash constants replaced."""
    octets = ", ".join("0x" + value[i:i + 2] for i in range(0, 40, 2))
    text = re.sub(r'(#define TENON_ABI_HEADER_HASH_HEX ).*', r'\g<1>"%s"' % value, text)
    return re.sub(r"#define TENON_ABI_HEADER_HASH_BYTES.*?(?=#endif)",
                  lambda _: "#define TENON_ABI_HEADER_HASH_BYTES \\\n  %s\n" % octets, text, flags=re.DOTALL)


def main():
    path = INCLUDE / "version.h"
    old = path.read_text()
    new = with_hash(old, header_hash(INCLUDE))
    if new != old:
        path.write_text(new)
        print("version.h: header hash updated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
