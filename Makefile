# Targets for users: run, test, build, install, wheel, wheels, gpu, peers, bench-peers, peers-rankings. For developers: race, lint, vet, bench, fuzz, mutate, kernels, torture, mpi-test, gpu-lint, gpu-test, gpu-pack, gpu-check, gpu-cubins, check-python, check-using, check-wheel, check-notebooks, check-report.
GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
BENCHSTAT = golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
FUZZTIME ?= 60s
PYTHON ?= python3
export CGO_ENABLED ?= 0
# Downloads need no HTTP/2, which adds 0.6 MB to the program. All targets have the tag, so that they share the compiled packages.
HTTP = nethttpomithttp2
export GOFLAGS += -tags=$(HTTP)
# Programs have no tables for debuggers, and functions start at multiples of 8 bytes: those of 32, Go's default, add 0.6 MB, and make no kernel faster.
LINK = -s -w -funcalign=8

.PHONY: install peers-rankings wheel wheels wheel-env check-wheel check-notebooks module outside amx-emulated mpi mpi-gpu run build test race torture mpi-deps mpi-test mpi-gpu-test lint format bench peers bench-peers check-python check-using check-report fuzz mutate results vet kernels kernels-ptx kernels-check gpu gpu-lint gpu-test gpu-header-test gpu-pack gpu-check gpu-cubins cuda-headers

# Train a linear model on a built-in table of two groups, whose positive rates may differ by 5 points.
run: build
	./bin/ppal train --dataset synthetic-adult --subject-to "gap(positive_rate, sex) <= 0.05"

# Install the program: make install PREFIX=$HOME/.local
PREFIX ?= /usr/local

install: build
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 bin/ppal $(DESTDIR)$(PREFIX)/bin/ppal
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	bin/ppal man > $(DESTDIR)$(PREFIX)/share/man/man1/ppal.1

build:
	$(GO) build -trimpath -ldflags '$(LINK)' -o bin/ppal ./cmd/ppal

# Rename the Go module in one step: make module PATH=github.com/you/ppal. PATH is then no list of folders: the recipe has its own, with
# the tools of every system, and needs no Go.
module:
	@PATH=/usr/bin:/bin .ci/rename-module '$(PATH)'

# Tidy and build a module outside the tree that imports every public package, and a renamed copy of the tree.
outside:
	.ci/outside

# The builds with cgo resolve hosts and users in Go. With these tags, they reuse nearly all packages that the build without cgo compiled.
PURE = netgo,osusergo,$(HTTP)

# The program with support for NVIDIA GPUs. The build needs a C compiler and CUDA's header cuda.h, from a toolkit or from
# cuda-headers; CUDA=12 or CUDA=13 uses the fetched header of that version. The program links no CUDA library and starts
# without a GPU.
HEADERS = internal/cuda/nvidia/headers
GPU_ENV = @folder=$$($(HEADERS)/headers.sh find $(CUDA)) && \
	export CGO_ENABLED=1 CGO_CFLAGS="-O2 -g -I$(CURDIR)/$(HEADERS)/compat -I$$folder" && set -x &&
GPU_PACKAGES ?= ./internal/cuda/...
# Most tests of these packages are the same in both builds, and `make test` runs them: gpu-test runs those in files with the tag gpu.
GPU_TAGGED ?= ./cuda ./internal/gpucheck
# The tests of the program that depend on support for GPUs. `make test` runs the others.
GPU_PROGRAM_TESTS ?= GPU|Device|Help|Version|TrainForReal

gpu:
	$(GPU_ENV) $(GO) build -tags gpu,$(PURE) -trimpath -ldflags '$(LINK)' -o bin/ppal-gpu ./cmd/ppal

# The program for several processes, started by mpirun or srun. Needs mpicc (mpi-deps).
mpi:
	$(MPI_ENV) $(GO) build -tags mpi,$(PURE) -trimpath -ldflags '$(LINK)' -o bin/ppal-mpi ./cmd/ppal

# The program for several processes with GPUs. Needs mpicc and cuda.h, as mpi and gpu do.
mpi-gpu:
	$(GPU_ENV) export CC=mpicc && $(GO) build -tags gpu,mpi,$(PURE) -trimpath -ldflags '$(LINK)' -o bin/ppal-mpi-gpu ./cmd/ppal

# Run vet and staticcheck on the build with GPU support.
VETFLAGS ?=
gpu-lint:
	$(GPU_ENV) $(GO) vet $(VETFLAGS) -tags gpu,$(PURE) ./... && $(GO) run $(STATICCHECK) -tags gpu,$(PURE) ./...

gpu-test:
	$(GPU_ENV) $(GO) test -tags gpu,$(PURE) $(TESTFLAGS) $(GPU_PACKAGES) && \
		tests=$$(grep -lx '//go:build gpu' $(GPU_TAGGED:%=%/*_test.go) | xargs sed -nE 's/^func (Test[A-Za-z0-9_]*).*/\1/p' | paste -sd'|' -) && \
		$(GO) test -tags gpu,$(PURE) $(TESTFLAGS) -run "^($$tests)$$" $(GPU_TAGGED) && \
		$(GO) test -tags gpu,$(PURE) $(TESTFLAGS) -run '$(GPU_PROGRAM_TESTS)' ./cmd
	if command -v mpicc >/dev/null && command -v mpirun >/dev/null; then $(MAKE) mpi-gpu-test CUDA=$(CUDA); else echo "no MPI here: the tests of processes with GPUs did not run"; fi

# The packages whose code depends on the version of CUDA's header, with the header of another version, without the longest test.
gpu-header-test:
	$(GPU_ENV) $(GO) test -short -tags gpu,$(PURE) $(TESTFLAGS) ./internal/cuda/nvidia/...

# Collect in build/gpu-check the files that a machine with a GPU needs for the check. It needs neither Go nor this repository.
DATA ?= $(or $(PPAL_DATA),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ppal)

gpu-pack: gpu-cubins gpu
	internal/gpucheck/pack.sh bin/ppal-gpu $(DATA) build/gpu-check

# Run on the machine with the GPU. GPU_CHECK_FLAGS="--part bench" runs one part.
gpu-check:
	test ! -d build/gpu-check || PPAL_WORK=build/unpacked OUT=build/unpacked sh build/gpu-check/first-run.sh 0
	test -x bin/ppal-gpu || { mkdir -p bin && cp build/unpacked/ppal-gpu bin/; }
	bin/ppal-gpu gpu-check $(if $(wildcard build/gpu-check),--data-dir build/unpacked) --out gpu-check.jsonl $(GPU_CHECK_FLAGS)

# Training over processes by MPI, with 3 processes. Open MPI and MPICH both have mpicc and mpirun; mpi-deps installs Open MPI on
# Debian and Ubuntu. PROCESSES is at least 2.
PROCESSES ?= 3
MPIRUN ?= mpirun $$(mpirun --version 2>/dev/null | grep -q 'Open MPI' && echo --oversubscribe --allow-run-as-root)
MPI_ENV = export CGO_ENABLED=1 CC=mpicc &&

mpi-deps:
	@command -v mpicc >/dev/null && command -v mpirun >/dev/null || { \
		command -v apt-get >/dev/null && test "$$(id -u)" = 0 || { echo "mpi-deps needs apt-get and root: install mpicc and mpirun yourself"; exit 1; }; \
		apt-get update -q && apt-get install -q -y --no-install-recommends openmpi-bin libopenmpi-dev; }

# Without the analysers that would analyse all dependencies again.
OWN_VET = -printf=false -lostcancel=false
mpi-test:
	$(MPI_ENV) $(GO) vet $(OWN_VET) -tags mpi,$(PURE) ./internal/ranks ./cmd/... && $(GO) test -tags mpi,$(PURE) -c -o build/ranks.test ./internal/ranks && \
		$(GO) test -tags mpi,$(PURE) -c -o build/ppal-mpi.test ./cmd
	cd internal/ranks && $(MPIRUN) -n $(PROCESSES) ../../build/ranks.test -test.run MPI -test.timeout 2m
	cd cmd && MPIRUN="$(MPIRUN)" ../build/ppal-mpi.test -test.run MPI -test.timeout 4m

# Processes with GPUs, on a driver without a GPU. Only package ranks needs MPI's header, so the compiled packages of gpu-test are used again.
mpi-gpu-test:
	$(GPU_ENV) export CPATH=$$(mpicc -show | tr ' ' '\n' | sed -n 's/^-I//p' | paste -sd: -) && \
		$(GO) test -tags gpu,mpi,$(PURE) -ldflags=-extld=mpicxx -c -o build/ppal-mpi-gpu.test ./cmd
	cd cmd && MPIRUN="$(MPIRUN)" ../build/ppal-mpi-gpu.test -test.run MPIGPU -test.timeout 8m

cuda-headers:
	$(HEADERS)/headers.sh fetch $(CUDA)

# The packages with the longest tests start first, so that both cores are busy until the end. The tests run without vet, which lint runs.
LONGEST = ./trainer/session ./cmd ./internal/behaviour ./internal/cpu ./trainer/session/verify
# The collector runs less often than by default, because it takes up to a quarter of a package's CPU time.
test: export GOGC = 400
test:
	$(GO) test -vet=off $(TESTFLAGS) $(LONGEST) ./...
	cd internal/cpu/gen && $(GO) test -vet=off -count=1 $(TESTFLAGS) ./... # uncached: it reads files of another module, the kernels

# Only the race detector needs cgo. RACE_PACKAGES are the packages that start goroutines (a test of internal/style compares the list with the
# sources), and the packages whose code runs on these goroutines, the longest first. The target leaves out long tests: -short, and
# require.NoRace. It leaves out examples, because tests start the same goroutines. The compiler optimises no package of DEPENDENCIES,
# which halves its work for them; Gorgonia is not among them, because tests compute with it.
RACE_PACKAGES = ./trainer/session ./cmd ./datasets ./datasets/picture ./internal/recordio ./internal/newrows ./internal/loader ./internal/columnar ./internal/datatest ./internal/cpu ./constraints ./internal/bench ./internal/cpu/kernel ./internal/disk ./internal/mutate ./internal/mapped ./datasets/parquet ./internal/ranks ./internal/require \
	./internal/relay ./internal/report ./internal/reproduce/suite ./internal/rundir ./internal/study ./trainer ./trainer/graph ./trainer/session/internal/build ./trainer/session/internal/load ./trainer/session/internal/save ./trainer/session/verify
DEPENDENCIES = codeberg.org github.com golang.org gonum.org google.golang.org
race:
	CGO_ENABLED=1 $(GO) test -race $(DEPENDENCIES:%=-gcflags='%/...=-N -l -dwarf=false') -short -timeout 30m -skip ^Example $(TESTFLAGS) $(RACE_PACKAGES)

# Kill real trainings with SIGKILL, KILLS times each, and compare the continued runs with undisturbed runs (about 10 minutes).
# Then start 24 runs in one directory, train on 10 million rows (8 GB of memory), and run every fuzz target for
# TORTURE_FUZZTIME (about 5 hours; TORTURE_FUZZTIME=0 leaves the fuzz targets out).
KILLS ?= 100
TORTURE_FUZZTIME ?= 10m

torture:
	PPAL_TORTURE=$(KILLS) $(GO) test -run TestKilledRunsResume -v -timeout 2h ./cmd
	PPAL_TORTURE=$(KILLS) $(GO) test -run 'TestParallelRuns|TestTenMillionRows' -v -timeout 1h ./cmd
	$(if $(filter-out 0,$(TORTURE_FUZZTIME)),$(MAKE) fuzz FUZZTIME=$(TORTURE_FUZZTIME))

lint: vet
	$(GO) run $(STATICCHECK) ./...

vet: format
	$(GO) vet ./...

# The parts of lint that gpu-lint does not repeat, but for the few files that the build without GPU support has instead of others.
format:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt would change:"; echo "$$unformatted"; exit 1; }
	cd internal/cpu/gen && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./...
	$(GO) test ./internal/style

# Run every benchmark ten times and summarise; compare two files with benchstat old.txt new.txt.
bench:
	$(GO) test -run '^$$' -bench . -benchmem -count 10 ./... | tee bench.txt
	$(GO) run $(BENCHSTAT) bench.txt

# Make the Python environment of bench-peers, `ppal reproduce decisions` and `ppal reproduce suite`.
peers: .venv-peers/made

# Compare with PyTorch, JAX, NumPy and Cooper, in their own virtual environment: internal/peers/README.md.
# PEERS_FLAGS="--quick" is a short comparison; PEERS_FLAGS="--help" lists the flags.
bench-peers: build .venv-peers/made
	PYTHONPATH=internal PYTHONDONTWRITEBYTECODE=1 .venv-peers/bin/python -m peers $(PEERS_FLAGS)

# Compare rankings of MQ2008 with TensorFlow Constrained Optimization, PyTorch and LightGBM.
peers-rankings: build .venv-peers/made .venv-tfco/made
	PYTHONPATH=internal PYTHONDONTWRITEBYTECODE=1 .venv-peers/bin/python -m peers.rankings

# Test the files of runs in PyTorch, scikit-learn, ONNX Runtime and TensorBoard, the Python of docs/guides, and the contenders of the suite.
check-python: build .venv-peers/made
	PYTHONPATH=internal PYTHONDONTWRITEBYTECODE=1 .venv-peers/bin/python -m unittest -v peers.using.test_using peers.using.test_guides peers.using.test_pretrained peers.using.test_tensorboard peers.suite.tests.test_contenders peers.suite.tests.test_device

# Open report.html of several runs in a Chromium without a screen. SHOTS=folder keeps screenshots.
BROWSER ?= $$(internal/report/browser.sh)

check-report: build
	browser=$(BROWSER) && PPAL_BROWSER="$$browser" PPAL_SHOTS=$(abspath $(SHOTS)) $(GO) test ./internal/report -run TestInBrowser -count 1 -v

# The Python of docs/guides: pandas, scikit-learn and ONNX Runtime, without PyTorch; and a method in NumPy beside ppal's.
check-using: build .venv-using/made
	PYTHONPATH=internal PYTHONDONTWRITEBYTECODE=1 .venv-using/bin/python -m unittest peers.using.test_using
	PATH="$(CURDIR)/.venv-using/bin:$$PATH" $(GO) test -vet=off ./cmd -run '^TestContender$$' -count 1

# The Python package with the program in it, for this platform or for GOOS and GOARCH of the environment. The tests run on Linux; the
# wheels of macOS and Windows are cross-compiled and not tested.
WHEELS ?= dist
wheel:
	$(PYTHON) -m pip wheel -q --no-deps -w $(WHEELS) ./python

wheels:
	for target in linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64 windows-arm64; do \
		GOOS=$${target%-*} GOARCH=$${target#*-} $(MAKE) wheel || exit 1; \
	done

# The wheel in a new virtual environment, or in WHEEL_ENV, with what its checks need.
WHEEL_ENV ?= build/wheel-env
wheel-env:
	rm -rf build/check-wheel
	$(MAKE) wheel WHEELS=build/check-wheel
	test $(WHEEL_ENV) != build/wheel-env || $(PYTHON) -m venv --clear $(WHEEL_ENV)
	$(WHEEL_ENV)/bin/python -m pip install -q --force-reinstall --no-deps build/check-wheel/*.whl
	$(WHEEL_ENV)/bin/python -m pip install -q "ppal[check]"

# Run the type checker and the tests of the package as the wheel installs it.
check-wheel: wheel-env
	cd python && ../$(WHEEL_ENV)/bin/python -m mypy ppal
	cd python/tests && OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 ../../$(WHEEL_ENV)/bin/python -m unittest -v

# Execute the code of the notebooks with the installed wheel, fairlearn and LightGBM.
check-notebooks: wheel-env
	$(WHEEL_ENV)/bin/python python/notebooks/check.py

.venv-peers/made .venv-using/made .venv-tfco/made: .venv-%/made: internal/peers/requirements.txt internal/peers/using/requirements.txt internal/peers/rankings/requirements.txt
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install -q -r internal/peers/$(if $(filter using,$*),using/)$(if $(filter tfco,$*),rankings/)requirements.txt
	touch $@

# Regenerate the CPU's assembly with its dispatch tables, and the GPU's PTX. Tests compare the CPU's files with the generator's output, and
# the checksum in ptx.zip with one of the GPU's sources and PTX. kernels-check compiles the PTX again, which takes two minutes of CPU time, and compares it.
kernels: kernels-ptx
	$(GO) generate ./internal/cpu/kernel

# Compile the PTX of changed GPU sources with NVIDIA's compilers from PyPI, in their own virtual environment, without GPU or toolkit.
kernels-ptx: .venv-kernels/made
	.venv-kernels/bin/python internal/cuda/kernels/compile.py

kernels-check: .venv-kernels/made
	.venv-kernels/bin/python internal/cuda/kernels/compile.py --check

# Compile the kernels for sm_80 and sm_90, so that the next `make gpu` embeds them beside the PTX.
gpu-cubins: .venv-kernels/made
	.venv-kernels/bin/python internal/cuda/kernels/compile.py --cubins

.venv-kernels/made: internal/cuda/kernels/requirements.txt
	$(PYTHON) -m venv .venv-kernels
	.venv-kernels/bin/python -m pip install -q -r $<
	touch $@

# Run the machine code of the AMX kernels in the emulator Bochs, on machines without AMX (less than a minute). It needs GNU binutils and a Bochs of 2026, configured with
# --enable-cpu-level=6 --enable-x86-64 --enable-avx --enable-evex --enable-amx --with-nogui, and corrected as internal/cpu/kernel/testdata/emulated.s says.
BOCHS ?= bochs
amx-emulated:
	$(GO) test -c -o bin/kernel.test ./internal/cpu/kernel
	cd internal/cpu/kernel && PPAL_BOCHS=$$(command -v $(BOCHS)) ../../../bin/kernel.test -test.run 'TestEmulated$$' -test.v

# List the changes of packages that no test notices (internal/mutate): make mutate MUTATE="./trainer/step ./internal/disk".
# MUTATE_FLAGS="-with ./internal/behaviour" also runs the tests of another package; MUTATE_FLAGS=-help lists the flags.
MUTATE ?= ./internal/disk ./internal/rundir
mutate:
	$(GO) run ./internal/mutate $(MUTATE_FLAGS) $(MUTATE)

# Write the tables of docs/evidence/paper/*.md from journals; make results RUNS="runs/reproduce-dp-compas" takes the journals of runs first.
results:
	@for d in $(RUNS); do cp "$$d/journal.json" docs/evidence/journals/"$$(basename "$$d" | sed 's/^reproduce-//')".json; done
	$(GO) test ./internal/reproduce -run TestPages -update

# Run every fuzz target for FUZZTIME. FUZZ="FuzzIDX FuzzCSV" runs these targets alone.
FUZZ ?=
fuzz:
	@for f in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | sort); do \
		for t in $$(grep -oE '^func Fuzz[A-Za-z0-9_]+' $$f | cut -d' ' -f2); do \
			case " $(or $(FUZZ),$$t) " in *" $$t "*) ;; *) continue ;; esac; \
			echo "$$t in $$(dirname $$f)"; \
			$(GO) test -run '^$$' -fuzz "^$$t\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x $(FUZZFLAGS) ./$$(dirname $$f) || exit 1; \
		done; \
	done
