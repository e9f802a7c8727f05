package style

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A shell reads the file for Slurm in docs/guides/processes.md.
func TestJobs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", "processes.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(#!/bin/bash\n#SBATCH.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 1 {
		t.Fatalf("%d scripts for sbatch, want 1", len(blocks))
	}
	check := exec.Command("bash", "-n")
	check.Stdin = strings.NewReader(blocks[0][1])
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s\n%s", err, out, blocks[0][1])
	}
}
