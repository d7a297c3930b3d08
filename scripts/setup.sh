#!/usr/bin/env bash
# Installs the Debian packages that Tenon needs and that are missing, and says which.
#
#   scripts/setup.sh            what a build needs
#   scripts/setup.sh --tests    also what the tests and checks need
#
# Nothing missing: nothing is done, no network is used, any user may call it. Missing packages: installed as root,
# or through sudo; with neither, the one command to run is printed and the exit code is 1.
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config python3 libboost-dev libprotobuf-dev protobuf-compiler libgrpc++-dev
  protobuf-compiler-grpc libdnnl-dev libyaml-cpp-dev libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev zlib1g-dev libjpeg62-turbo-dev libpng-dev
  libmd-dev libgloo-dev ccache)
test_packages=(libgtest-dev libgmock-dev clang clang-format libomp-dev patch abigail-tools python3-jsonschema python3-yaml
  openmpi-bin mpich slurm-wlm munge iproute2 nftables)

case "${1:-}" in
  "") ;;
  --tests) packages+=("${test_packages[@]}") ;;
  --help | -h) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "setup.sh: unknown argument '$1'; --tests is the only one." >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: this system has no dpkg, so nothing was installed. The build needs what Debian calls: ${packages[*]}"
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

echo "setup.sh: missing packages: ${missing[*]}"
options=(-y --no-install-recommends -o DPkg::Lock::Timeout=300)
if [[ $(id -u) -eq 0 ]]; then
  as_root=(env)
elif command -v sudo >/dev/null; then
  echo "setup.sh: installing them through sudo"
  as_root=(sudo env)
else
  echo "setup.sh: installing needs root, and there is no sudo. Run this as root, then start again:"
  echo "  apt-get update && apt-get install ${options[*]} ${missing[*]}"
  exit 1
fi
"${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 update
"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install "${options[@]}" "${missing[@]}"
