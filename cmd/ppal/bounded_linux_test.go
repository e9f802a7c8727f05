package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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

// With --memory, the anonymous memory of a whole run, from the reading to the certificate, does not
// grow with the rows, for bounds on surrogates and on decisions.
func TestMemoryDoesNotGrowWithRows(t *testing.T) {
	racing.Skip(t, "its memory grows with the rows; the tests of trainer/session with pages run these goroutines")
	// Garbage and vectors below 1 MiB let the peak vary by a few MB. A vector of 8 bytes for each row
	// takes another 4.6 MiB for the larger table.
	const few, many, most = 300_000, 900_000, 9 << 19
	for _, on := range []string{"surrogate", "decisions"} {
		peak := map[int]int{}
		for _, n := range []int{few, many} {
			run := process("train", "--file", writeNumbers(t, n), "--label", "y=true", "--subject-to", "gap(positive_rate, sex) <= 0.5",
				"--bounds-on", on, "--iterations", "10", "--memory", "64MiB", "--memory-limit", "none", "--threads", "1", "--quiet", "--allow-violation",
				"--out", filepath.Join(t.TempDir(), "run"))
			run.Env = append(run.Env, "GOGC=20") // garbage of up to 32 MB would hide the rest
			peak[n] = anonymousPeak(t, run)
		}
		if grown := peak[many] - peak[few]; grown > most {
			t.Errorf("bounds on %s: %d rows take %d KiB and %d rows take %d KiB of anonymous memory", on, few, peak[few]>>10, many, peak[many]>>10)
		} else {
			t.Logf("bounds on %s: %.1f bytes a row; %d KiB, %d KiB", on, float64(grown)/(many-few), peak[few]>>10, peak[many]>>10)
		}
	}
}
