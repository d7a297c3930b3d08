#!/usr/bin/env bash
# libtenon.so exports its own namespace and nothing else: exports_test.sh libtenon.so
set -euo pipefail
others=$(nm -D --defined-only -C "$1" | sed 's/^[0-9a-f]* *[A-Za-z] //' | grep -v -e '^tenon::api::' -e '^typeinfo.* for tenon::api::Error$' -e '^vtable for tenon::api::Error$' || true)
if [ -n "$others" ]; then
  echo "$1 exports more than tenon::api:" >&2
  echo "$others" >&2
  exit 1
fi
nm -D --defined-only -C "$1" | grep -q 'tenon::api::Runtime::Runtime'
