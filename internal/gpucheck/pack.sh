#!/bin/sh
# pack.sh PROGRAM DATA FOLDER: collects in FOLDER what a machine with a GPU needs for the check: the program, first-run.sh, and
# Fashion-MNIST's four files from DATA/fashion-mnist. The program and the images are compressed by xz. The folder and the tracked
# files of this checkout together have at most 62 MiB, because the machine takes 64 MiB. ppal-mpi-gpu (`make mpi-gpu`) comes along
# if it lies beside PROGRAM and fits.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$1 data=$2 folder=$3
most=$((62 * 1024)) # KiB

for f in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
  if [ ! -f "$data/fashion-mnist/$f-ubyte.gz" ]; then
    echo "$data/fashion-mnist/$f-ubyte.gz is not there: \`ppal data fetch fashion-mnist\` gets it, PPAL_DATA names another folder" >&2
    exit 1
  fi
done
rm -rf "$folder"
mkdir -p "$folder/fashion-mnist"
pack() { xz --x86 --lzma2=preset=9 -c "$1" >"$folder/$2.xz"; }
pack "$program" ppal-gpu
mpi=$(dirname "$program")/ppal-mpi-gpu
[ ! -x "$mpi" ] || pack "$mpi" ppal-mpi-gpu
cp "$data"/fashion-mnist/*-labels-idx1-ubyte.gz "$folder/fashion-mnist/"
for f in train-images-idx3-ubyte t10k-images-idx3-ubyte; do # a seventh smaller than with gzip
  gzip -dc "$data/fashion-mnist/$f.gz" | xz -9 -c >"$folder/fashion-mnist/$f.xz"
done
cp "$here/first-run.sh" "$folder/"
chmod -R u+w "$folder"
kib() { awk '{ n += $1 } END { print int((n + 1023) / 1024) }'; }
packed() { find "$folder" -type f -exec stat -c %s {} + | kib; }
tree=$(cd "$here" && cd "$(git rev-parse --show-toplevel 2>/dev/null || echo .)" && git ls-files -z 2>/dev/null | xargs -0 -r stat -c %s | kib)
if [ -f "$folder/ppal-mpi-gpu.xz" ] && [ $(($(packed) + tree)) -gt "$most" ]; then
  rm -f "$folder/ppal-mpi-gpu.xz"
  echo "ppal-mpi-gpu does not fit: the case under mpirun will not run" >&2
fi
size=$(packed)
if [ $((size + tree)) -gt "$most" ]; then
  echo "$folder has $size KiB and the tracked files have $tree KiB, together more than $most KiB" >&2
  exit 1
fi
echo "$folder: $((size / 1024)) MiB, with the tracked files $(((size + tree) / 1024)) MiB; there, run: sh first-run.sh 1"
