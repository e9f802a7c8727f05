package cmd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"ppal/internal/require"
	"ppal/internal/rundir"
)

// width is the number of numbers in a row of the tests' tables and LIBSVM files.
const width = 40

// writeNumbers writes a table of n rows with width numbers, a group and a label.
func writeNumbers(t *testing.T, n int) (path string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for j := range width {
		text = fmt.Appendf(text, "x%d,", j)
	}
	text = append(text, "sex,y\n"...)
	for range n {
		sum := 0.0
		for range width {
			x := rng.NormFloat64()
			sum += x
			text = append(strconv.AppendFloat(text, x, 'f', 3, 64), ',')
		}
		sex := rng.IntN(2)
		text = fmt.Appendf(text, "%c,%t\n", "fm"[sex], sum+float64(sex) > 0.5)
	}
	path = filepath.Join(t.TempDir(), "numbers.csv")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// anonymousPeak runs a program and returns the largest anonymous memory that it had, in bytes.
func anonymousPeak(t *testing.T, cmd *exec.Cmd) (peak int) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start(t, cmd)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v: %s", err, &out)
			}
			return peak
		case <-time.After(2 * time.Millisecond):
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // no file: it has ended
		for line := range bytes.Lines(text) {
			if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == "RssAnon:" {
				kilobytes := require.Value(strconv.Atoi(string(fields[1])))(t)
				peak = max(peak, kilobytes<<10)
			}
		}
	}
}

// writeSparse writes a file of n rows with width entries each in LIBSVM's format.
func writeSparse(t *testing.T, n int) (path string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for range n {
		text = append(text, "-+"[rng.IntN(2)], '1')
		for j := range width {
			text = append(strconv.AppendInt(append(text, ' '), int64(j+1), 10), ':')
			text = strconv.AppendInt(text, int64(1+rng.IntN(9)), 10)
		}
		text = append(text, '\n')
	}
	path = filepath.Join(t.TempDir(), "rows.svm")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// writePictures writes files in the form of Fashion-MNIST, with n pictures of random pixels for
// training and as many for testing, and returns the data directory.
func writePictures(t *testing.T, n int) (dir string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // kept pictures
	pixels, labels := make([]byte, n*784), make([]byte, n)
	for i := range pixels {
		pixels[i] = byte(i * i >> 8)
	}
	for i := range labels {
		labels[i] = byte(i % 2)
	}
	dir = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "fashion-mnist"), 0o777))
	for _, part := range []string{"train", "t10k"} {
		for name, content := range map[string][]byte{
			part + "-images-idx3-ubyte.gz": append(binary.BigEndian.AppendUint32([]byte{0, 0, 8, 3}, uint32(n)), append([]byte{0, 0, 0, 28, 0, 0, 0, 28}, pixels...)...),
			part + "-labels-idx1-ubyte.gz": append(binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, uint32(n)), labels...),
		} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "fashion-mnist", name), content, 0o600))
		}
	}
	return dir
}

// With --memory, the features of the rows lie in files: the anonymous memory of a whole run, from
// the reading to the certificate, grows with the labels, groups and scores of the rows only,
// whether the run keeps the rows or finds them. In memory, a row of a table would take 320 bytes
// and 160 packed, a sparse row 480 and more packed, and a picture 1,568, for training and testing,
// and 3,136 packed.
func TestMemoryOfRows(t *testing.T) {
	require.NoRace(t, "its memory grows with the rows; the tests of trainer/session with pages run these goroutines")
	for name, tc := range map[string]struct {
		few, many int
		most      int // bytes for each row
		flags     func(n int) []string
	}{
		"table": {20_000, 80_000, 300, func(n int) []string {
			return []string{"--file", writeNumbers(t, n), "--label", "y=true", "--subject-to", "gap(positive_rate, sex) <= 0.5"}
		}},
		"pictures": {1000, 6000, 784, func(n int) []string {
			return []string{"--dataset", "fashion-mnist", "--data-dir", writePictures(t, n), "--classes", "0,1", "--kappa", "5", "--model", "linear"}
		}},
		"LIBSVM": {20_000, 50_000, 300, func(n int) []string {
			return []string{"--dataset", "libsvm", "--file", writeSparse(t, n), "--subject-to", "fpr <= 0.9", "--bounds-on", "surrogate"}
		}},
	} {
		peak := map[string]int{}
		for _, n := range []int{tc.few, tc.many} {
			flags, out := tc.flags(n), filepath.Join(t.TempDir(), "run")
			for _, which := range []string{"first", "second"} {
				run := process(append(flags, "--iterations", "3", "--memory", "64MiB", "--memory-limit", "none", "--threads", "1",
					"--quiet", "--allow-violation", "--out", out+which)...)
				run.Args = slices.Insert(run.Args, 1, "train")
				run.Env = append(run.Env, "GOGC=20") // garbage of up to 32 MB would hide the rest
				peak[fmt.Sprint(which, n)] = anonymousPeak(t, run)
			}
		}
		for _, which := range []string{"first", "second"} {
			few, many := peak[fmt.Sprint(which, tc.few)], peak[fmt.Sprint(which, tc.many)]
			if grown := many - few; grown > tc.most*(tc.many-tc.few) {
				t.Errorf("%s, %s run: %d rows take %d KiB and %d rows take %d KiB of anonymous memory", name, which, tc.few, few>>10, tc.many, many>>10)
			} else {
				t.Logf("%s, %s run: %.1f bytes a row; %d KiB, %d KiB", name, which, float64(grown)/float64(tc.many-tc.few), few>>10, many>>10)
			}
		}
	}
}

// The start of the heap has the kernel's flag for huge pages, the next allocations lie there, and
// the ballast takes no memory. The test runs in a process of its own, whose heap is unused.
func TestHeapHasHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("the kernel has no huge pages")
	}
	if os.Getenv("PPAL_UNUSED_HEAP") == "" {
		own := exec.Command(os.Args[0], "-test.run=^TestHeapHasHugePages$")
		own.Env = append(os.Environ(), "PPAL_UNUSED_HEAP=1")
		if out, err := own.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	t.Setenv("GOGC", "")
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	prepareHeap()
	own := make([]byte, hugeHeap/4) // may begin below the advised pages
	if _, flags := mapping(t, &own[len(own)/2]); !strings.Contains(flags, " hg") {
		t.Errorf("an allocation lies in memory with the flags%s, want hg", flags)
	}
	if resident, _ := mapping(t, &ballast[len(ballast)/2]); resident > len(ballast)>>10/8 {
		t.Errorf("the ballast's memory has %d KiB resident, want almost nothing", resident)
	}
	ballast = nil
	t.Setenv("GOGC", "50")
	if prepareHeap(); ballast != nil {
		t.Error("ppal changes the heap although the user has set GOGC")
	}
}

// mapping returns the resident KiB and the flags of the mapping that has the byte.
func mapping(t *testing.T, b *byte) (resident int, flags string) {
	t.Helper()
	file, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	at, inside := uintptr(unsafe.Pointer(b)), false
	for line := range bytes.Lines(file) {
		text := strings.TrimSpace(string(line))
		name, value, _ := strings.Cut(text, ":")
		if from, to, ok := addresses(text); ok {
			inside = from <= at && at < to
		}
		if !inside {
			continue
		}
		switch name {
		case "Rss":
			_, _ = fmt.Sscan(value, &resident)
		case "VmFlags":
			return resident, value
		}
	}
	t.Fatal("no mapping has the byte")
	return 0, ""
}

// addresses returns the addresses at the start of a mapping's first line.
func addresses(line string) (from, to uintptr, ok bool) {
	n, err := fmt.Sscanf(line, "%x-%x ", &from, &to)
	return from, to, err == nil && n == 2
}

// keptRun trains on a table whose rows are in a kept file, calls change with the file's path once
// the run has a checkpoint, and interrupts the run. It returns the exit status and stderr.
func keptRun(t *testing.T, change func(kept, run string)) (status int, stderr, run string) {
	t.Helper()
	dir := t.TempDir()
	run = filepath.Join(dir, "run")
	cmd := process("train", "--file", writeNumbers(t, 4000), "--label", "y=true", "--model", "mlp", "--hidden", "4", "--subject-to", "gap(positive_rate, sex) <= 0.3",
		"--iterations", "1000000", "--time-limit", "60s", "--memory", "64MiB", "--memory-limit", "none", "--threads", "2", "--checkpoint-every", "1ms", "--record-every", "10",
		"--quiet", "--allow-violation", "--out", run)
	var out bytes.Buffer
	cmd.Stderr = &out
	start(t, cmd)
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(run, rundir.CheckpointName)); err == nil {
			break
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatal("no checkpoint: " + out.String())
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "ppal-rows", "*.rows"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	change(files[0], run)
	require.NoError(t, cmd.Process.Signal(os.Interrupt)) // the certificate reads the rows
	return exitStatus(cmd.Wait()), out.String(), run
}

// A kept file that is shortened while a run reads it ends the run in one line, with the command
// that resumes it and the status of a failure.
func TestShortenedRows(t *testing.T) {
	require.NoRace(t, "a process of its own has no race detector")
	status, stderr, run := keptRun(t, func(kept, _ string) {
		require.NoError(t, os.Truncate(kept, 0))
	})
	if status != exitFailed || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "cannot be read: another process shortened the file, or the disk fails") ||
		!strings.Contains(stderr, resumeLine(run)) {
		t.Errorf("status %d: %s", status, stderr)
	}
}
