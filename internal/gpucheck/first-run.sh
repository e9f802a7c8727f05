#!/bin/sh
# first-run.sh STEP [FOLDER]: one step of the first check on a machine with a GPU. FOLDER, by default this script's folder or
# build/gpu-check, is the folder that `make gpu-pack` made. Steps, with the most seconds that each takes:
#
#   0 (120)  unpack the program and the data in PPAL_WORK; every other step does this too
#   1 (270)  the driver, the device, compile times, and the part parity
#   2 (360)  the part bench
#   3 (360)  every launch of an iteration under ncu: time, bytes, instructions
#   4 (420)  the part peers; `ppal-gpu gpu-check --part convolutions` has PyTorch's convolutions
#   5 (210)  the part training, and memcheck
#   6 (570)  on a machine that is lent for 15 minutes, first: devices, and the parts parity, commands and training
#   7 (280)  there, second: convolutions without PyTorch, and the bench of Fashion-MNIST
#
# The results go to the folder OUT (default: out in FOLDER), one log for each step. A command that fails or exceeds its limit is
# reported, and the step goes on. PPAL_WORK (default /tmp/ppal-first-run) keeps the program and the compile caches from step to step.
# FIRST_RUN_SECONDS replaces the limit of every command, and FIRST_RUN_ROOT the folder in which cuBLAS is searched, for tests.
set -u
here=$(cd "$(dirname "$0")" && pwd)
step=${1:-}
case $step in
0) limit=120 ;; 1) limit=270 ;; 2 | 3) limit=360 ;; 4) limit=420 ;; 5) limit=210 ;; 6) limit=570 ;; 7) limit=280 ;;
*)
  sed -n '2,/^set/ { /^set/d; s/^# \{0,1\}//; p; }' "$0" >&2
  exit 2
  ;;
esac
folder=${2:-$here}
[ -f "$folder/ppal-gpu.xz" ] || folder=build/gpu-check
if [ ! -f "$folder/ppal-gpu.xz" ]; then
  echo "first-run.sh: $folder/ppal-gpu.xz is missing: run \`make gpu-pack\`, or name its folder" >&2
  exit 2
fi
folder=$(cd "$folder" && pwd)

# The whole step has a limit too. `timeout` ends this second process of the script with everything that it started.
if [ -z "${FIRST_RUN_INSIDE:-}" ]; then
  FIRST_RUN_INSIDE=1 exec timeout -k 10 "$limit" sh "$0" "$step" "$folder"
fi

out=${OUT:-$folder/out}
work=${PPAL_WORK:-/tmp/ppal-first-run}
mkdir -p "$out" "$work/cache" "$work/inductor" "$work/fashion-mnist"
log=$out/step$step.log
: >"$log"

# unpack NAME: decompresses NAME.xz of the folder to NAME in the folder work, if it is not there or older.
unpack() {
  [ ! -f "$work/$1" ] || [ "$folder/$1.xz" -nt "$work/$1" ] || return 0
  { xz -dc "$folder/$1.xz" || python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' \
    "$folder/$1.xz"; } >"$work/$1.new" 2>>"$log" && mv "$work/$1.new" "$work/$1" && return 0
  echo "first-run.sh: $folder/$1.xz cannot be unpacked: $(tail -n 1 "$log")" >&2
  exit 1
}
unpack ppal-gpu
gpu=$work/ppal-gpu
chmod +x "$gpu"
if [ -f "$folder/ppal-mpi-gpu.xz" ]; then
  unpack ppal-mpi-gpu
  chmod +x "$work/ppal-mpi-gpu"
fi
for f in "$folder"/fashion-mnist/*; do
  case $f in
  *.xz) unpack "fashion-mnist/$(basename "$f" .xz)" ;;
  *.gz) cp "$f" "$work/fashion-mnist/" ;;
  esac
done
export CUDA_CACHE_PATH="$work/cache" CUDA_CACHE_MAXSIZE=4294967296 TORCHINDUCTOR_CACHE_DIR="$work/inductor" PYTHONUNBUFFERED=1
export XLA_PYTHON_CLIENT_PREALLOCATE=false
if [ -z "${PPAL_CUBLAS:-}" ]; then
  PPAL_CUBLAS=$(python3 -c 'import sysconfig, glob
print((sorted(glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/*/lib/libcublas.so.1[123]")) or [""])[-1])' 2>/dev/null)
  [ -n "$PPAL_CUBLAS" ] && export PPAL_CUBLAS || unset PPAL_CUBLAS
fi

# try SECONDS NAME COMMAND...: runs a command with a limit, prints and logs the output, and the outcome in one line.
failed=0
try() {
  seconds=${FIRST_RUN_SECONDS:-$1}
  name=$2
  shift 2
  began=$(date +%s)
  { timeout -k 5 "$seconds" "$@" 2>&1; echo $? >"$work/status"; } | tee -a "$log"
  status=$(cat "$work/status")
  took=$(($(date +%s) - began))
  case $status in
  0) outcome="done" ;;
  124 | 137) outcome="stopped after $seconds s" failed=1 ;;
  *) outcome="failed with status $status" failed=1 ;;
  esac
  echo "== step $step: $name: $outcome ($took s)" | tee -a "$log"
}

check() { # SECONDS PART [FLAGS...]
  seconds=$1 part=$2
  shift 2
  try "$seconds" "$part" "$gpu" gpu-check --part "$part" --data-dir "$work" --out "$out/$part.jsonl" "$@"
}

case $step in
0) echo "unpacked in $work" ;;
1)
  try 10 "nvidia-smi" nvidia-smi -q
  try 60 "devices" "$gpu" devices
  devices=$status
  try 30 "devices again" "$gpu" devices
  if [ "$devices" != 0 ]; then # what the machine has, for the search by hand
    try 10 "libraries" sh -c 'ldconfig -p | grep -E "libcuda|libcublas"'
    try 30 "cuBLAS" find "${FIRST_RUN_ROOT:-/}" -name 'libcublas.so.*' -not -path '/proc/*'
  fi
  check 165 parity
  ;;
2) check 350 bench ;;
3)
  metrics=gpu__time_duration.sum,dram__bytes.sum,lts__t_bytes.sum,smsp__inst_executed.sum
  metrics=$metrics,smsp__issue_active.avg.pct_of_peak_sustained_active,sm__warps_active.avg.pct_of_peak_sustained_active
  metrics=$metrics,launch__registers_per_thread
  for products in int8x3 tf32 float32; do
    try 110 "ncu $products" ncu --clock-control none --graph-profiling node -s 170 -c 40 --metrics "$metrics" --csv \
      --log-file "$out/ncu-$products.csv" "$gpu" train --device cuda --products "$products" --dataset fashion-mnist --data-dir "$work" \
      --iterations 40 --record-every 40
  done
  ;;
4) check 410 peers ;;
5)
  check 100 training
  try 100 "memcheck" compute-sanitizer --tool memcheck --error-exitcode 86 "$gpu" gpu-check --part small --case small
  ;;
6)
  try 60 "devices" "$gpu" devices
  check 165 parity
  check 100 commands
  check 100 training
  ;;
7)
  check 110 convolutions --python none
  check 160 bench --cases fashion-mnist
  ;;
esac
exit $failed
