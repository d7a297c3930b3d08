#!/usr/bin/env bash
# The libraries that the tenon program loads at start are few and known: each costs every start of the program, and an
# OpenMP runtime in the host would be loaded before the host can set how it waits.
#
#   tools/check_links.sh PROGRAM [MOST]
set -euo pipefail
program=${1:?"usage: check_links.sh PROGRAM [MOST]"}
most=${2:-12}

libraries=$(env -u LD_PRELOAD ldd "$program" | awk '/\.so/ {print $1}' | grep -vE 'linux-vdso|ld-linux|lib[a-z]*san\.so')
count=$(grep -c . <<<"$libraries")
echo "$program loads $count libraries:" $libraries
if grep -E 'grpc|libssl|libcrypto|gomp|libomp|libiomp|dnnl|protobuf\.so|gloo|libcuda|opencl' <<<"$libraries"; then
  echo "check_links: the libraries above belong into plugins or into libraries that are opened when needed" >&2
  exit 1
fi
if [[ $count -gt $most ]]; then
  echo "check_links: $count libraries are more than $most" >&2
  exit 1
fi
