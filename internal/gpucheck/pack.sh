#!/bin/sh
# pack.sh PROGRAM DATA FOLDER: collects what `ppal-gpu gpu-check` needs on a machine with a GPU, in at most 60 MiB: the program, and
# Fashion-MNIST's training files from DATA/fashion-mnist.
set -eu
program=$1 data=$2 folder=$3
most=$((60 * 1024)) # KiB

for f in train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz; do
  if [ ! -f "$data/fashion-mnist/$f" ]; then
    echo "$data/fashion-mnist/$f is not there: \`ppal data fetch fashion-mnist\` gets it, PPAL_DATA names another folder" >&2
    exit 1
  fi
done
rm -rf "$folder"
mkdir -p "$folder/fashion-mnist"
cp "$program" "$folder/ppal-gpu"
cp "$data"/fashion-mnist/train-*.gz "$folder/fashion-mnist/"
chmod -R u+w "$folder"
size=$(du -sk "$folder" | cut -f1)
if [ "$size" -gt "$most" ]; then
  echo "$folder has $size KiB, more than $most" >&2
  exit 1
fi
echo "$folder: $((size / 1024)) MiB; there, run: ./ppal-gpu gpu-check --out gpu-check.json"
