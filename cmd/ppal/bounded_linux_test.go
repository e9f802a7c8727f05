package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"ppal/internal/racing"
)

// writeNumbers writes a table of n rows with five numbers, a group and a label.
func writeNumbers(t *testing.T, n int) (path string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	text := bytes.NewBufferString("a,b,c,d,e,sex,y\n")
	for range n {
		sum := 0.0
		for range 5 {
			x := rng.NormFloat64()
			sum += x
			fmt.Fprintf(text, "%.3f,", x)
		}
		sex := rng.IntN(2)
		fmt.Fprintf(text, "%c,%t\n", "fm"[sex], sum+float64(sex) > 0.5)
	}
	path = filepath.Join(t.TempDir(), "numbers.csv")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
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
				kilobytes, err := strconv.Atoi(string(fields[1]))
				if err != nil {
					t.Fatal(err)
				}
				peak = max(peak, kilobytes<<10)
			}
		}
	}
}

// writeSparse writes a file of n rows with 5 entries each in LIBSVM's format.
func writeSparse(t *testing.T, n int) (path string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for range n {
		text = append(text, "-+"[rng.IntN(2)], '1')
		for j := range 5 {
			text = append(strconv.AppendInt(append(text, ' '), int64(j+1), 10), ':')
			text = strconv.AppendInt(text, int64(1+rng.IntN(9)), 10)
		}
		text = append(text, '\n')
	}
	path = filepath.Join(t.TempDir(), "rows.svm")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// writePictures writes files in the form of Fashion-MNIST, with n pictures of random pixels for
// training and as many for testing, and returns the data directory.
func writePictures(t *testing.T, n int) (dir string) {
	t.Helper()
	pixels, labels := make([]byte, n*784), make([]byte, n)
	for i := range pixels {
		pixels[i] = byte(i * i >> 8)
	}
	for i := range labels {
		labels[i] = byte(i % 2)
	}
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "fashion-mnist"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"train", "t10k"} {
		for name, content := range map[string][]byte{
			part + "-images-idx3-ubyte.gz": append(binary.BigEndian.AppendUint32([]byte{0, 0, 8, 3}, uint32(n)), append([]byte{0, 0, 0, 28, 0, 0, 0, 28}, pixels...)...),
			part + "-labels-idx1-ubyte.gz": append(binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, uint32(n)), labels...),
		} {
			if err := os.WriteFile(filepath.Join(dir, "fashion-mnist", name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// With --memory, the anonymous memory of a run on pictures or on a LIBSVM file does not grow with
// the rows, neither when it keeps the rows nor when it finds them. Few pictures have vectors below
// the size from which vectors lie in files. In memory, a picture would take 1,568 bytes, for
// training and testing, and 3,136 bytes packed; a sparse row would take at least 96 bytes.
func TestMemoryOfPicturesAndSparseRows(t *testing.T) {
	racing.Skip(t, "its memory grows with the rows; the tests of trainer/session with pages run these goroutines")
	for name, tc := range map[string]struct {
		few, many int
		most      int // bytes for each row
		flags     func(n int) []string
	}{
		"pictures": {2000, 12_000, 784, func(n int) []string {
			return []string{"--dataset", "fashion-mnist", "--data-dir", writePictures(t, n), "--classes", "0,1", "--kappa", "5", "--model", "linear"}
		}},
		"LIBSVM": {150_000, 450_000, 40, func(n int) []string {
			return []string{"--dataset", "libsvm", "--file", writeSparse(t, n), "--subject-to", "fpr <= 0.9", "--bounds-on", "surrogate"}
		}},
	} {
		peak := map[string]int{}
		for _, n := range []int{tc.few, tc.many} {
			out := filepath.Join(t.TempDir(), "run")
			for _, which := range []string{"first", "second"} {
				run := process(append(tc.flags(n), "--iterations", "3", "--memory", "64MiB", "--memory-limit", "none", "--threads", "1",
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

// With --memory, the anonymous memory of a whole run, from the reading to the certificate, does not
// grow with the rows, for bounds on surrogates and on decisions.
func TestMemoryDoesNotGrowWithRows(t *testing.T) {
	racing.Skip(t, "its memory grows with the rows; the tests of trainer/session with pages run these goroutines")
	// Garbage and vectors below 1 MiB let the peak vary by a few MB. A vector of 8 bytes for each row
	// takes another 4.6 MiB for the larger table.
	const few, many, most = 300_000, 900_000, 9 << 19
	files := map[int]string{few: writeNumbers(t, few), many: writeNumbers(t, many)}
	for _, on := range []string{"surrogate", "decisions"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			peak := map[int]int{few: math.MaxInt, many: math.MaxInt}
			for k := range 6 { // garbage only adds to a peak: the least of up to three runs counts
				if k%2 == 0 && k > 0 && peak[many]-peak[few] <= most {
					break
				}
				n := []int{few, many}[k%2]
				run := process("train", "--file", files[n], "--label", "y=true", "--subject-to", "gap(positive_rate, sex) <= 0.5",
					"--bounds-on", on, "--iterations", "10", "--memory", "64MiB", "--memory-limit", "none", "--threads", "1", "--quiet", "--allow-violation",
					"--out", filepath.Join(t.TempDir(), "run"))
				run.Env = append(run.Env, "GOGC=20") // garbage of up to 32 MB would hide the rest
				peak[n] = min(peak[n], anonymousPeak(t, run))
			}
			grown := peak[many] - peak[few]
			if grown > most {
				t.Errorf("%d rows take %d KiB and %d rows take %d KiB of anonymous memory", few, peak[few]>>10, many, peak[many]>>10)
			}
			t.Logf("%.1f bytes a row; %d KiB, %d KiB", float64(grown)/(many-few), peak[few]>>10, peak[many]>>10)
		})
	}
}
