package cmd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"ppal/internal/require"
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
		"table": {10_000, 40_000, 300, func(n int) []string {
			return []string{"--file", writeNumbers(t, n), "--label", "y=true", "--subject-to", "gap(positive_rate, sex) <= 0.5"}
		}},
		"pictures": {1000, 6000, 784, func(n int) []string {
			return []string{"--dataset", "fashion-mnist", "--data-dir", writePictures(t, n), "--classes", "0,1", "--kappa", "5", "--model", "linear"}
		}},
		"LIBSVM": {10_000, 40_000, 300, func(n int) []string {
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
