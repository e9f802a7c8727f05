#!/bin/sh
# headers.sh find [12|13]   prints the folder of cuda.h: a toolkit's, or with a version the fetched one, which it fetches first if missing
# headers.sh fetch [12|13]  fetches cuda.h from NVIDIA's Python package, with the version and checksum in 12.txt or 13.txt
#
# Without a version, find looks for a toolkit in CUDA_HOME, CUDA_PATH and the usual folders.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
version=${2:-12}
folder=$root/.cuda/$version

fetch() {
  wheels=$(mktemp -d)
  trap 'rm -rf "$wheels"' EXIT
  ${PYTHON:-python3} -m pip download --quiet --no-deps --only-binary=:all: --require-hashes -d "$wheels" -r "$here/$version.txt" >&2
  mkdir -p "$folder"
  ${PYTHON:-python3} - "$wheels" "$folder" >&2 <<'END'
import pathlib, sys, zipfile
wheel = zipfile.ZipFile(next(pathlib.Path(sys.argv[1]).glob("*.whl")))
header = next(n for n in wheel.namelist() if n.endswith("/include/cuda.h"))
(pathlib.Path(sys.argv[2]) / "cuda.h").write_bytes(wheel.read(header))
END
  echo "cuda.h of CUDA $version is in $folder" >&2
}

case ${1:-} in
fetch) fetch ;;
find)
  if [ -z "${2:-}" ]; then
    for include in "${CUDA_HOME:-/nowhere}/include" "${CUDA_PATH:-/nowhere}/include" /usr/local/cuda/include /opt/cuda/include /usr/include; do
      if [ -f "$include/cuda.h" ]; then
        echo "$include"
        exit
      fi
    done
  fi
  [ -f "$folder/cuda.h" ] || fetch
  echo "$folder"
  ;;
*)
  echo "usage: headers.sh find|fetch [12|13]" >&2
  exit 2
  ;;
esac
