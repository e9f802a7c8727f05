package cmd

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ppal/internal/require"
)

// endOfTerms ends the terms of the Apache License.
const endOfTerms = "END OF TERMS AND CONDITIONS"

// legalNames matches the names of files with a licence or a notice.
var legalNames = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// TestLicenses checks that the text has the licences and notices of all modules that the program
// links, with support for GPUs and several processes, and of Go's standard library.
func TestLicenses(t *testing.T) {
	want, modules := collectLicenses(t)
	if require.Update() {
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		require.NoError(t, err)
		_, err = io.WriteString(w, want)
		require.NoError(t, errors.Join(err, w.Close(), os.WriteFile("third-party.txt.gz", packed.Bytes(), 0o644)))
	} else if command(t.Context(), nil, "version", "--licenses").stdout != want {
		t.Error("third-party.txt.gz is not up to date; run: go test ./cmd -run Licenses -update")
	}
	for _, m := range modules {
		if !strings.Contains(want, "\n    "+m+"\n") {
			t.Errorf("no licence of %s", m)
		}
	}
	for _, notice := range []string{"Apache Thrift"} {
		if !strings.Contains(want, notice) {
			t.Errorf("the text lacks %q", notice)
		}
	}
}

// collectLicenses returns the text, and the paths of the linked modules.
func collectLicenses(t *testing.T) (text string, modules []string) {
	users := map[string][]string{} // by the text of a licence
	first := map[string]string{}   // the text, by its words: copies have different line ends
	add := func(module, file string) {
		data := require.Value(os.ReadFile(file))(t)
		text := strings.ReplaceAll(string(data), "\r\n", "\n")
		if !utf8.Valid(data) { // Latin-1
			runes := make([]rune, len(data))
			for i, b := range data {
				runes[i] = rune(b)
			}
			text = string(runes)
		}
		terms, rest, cut := strings.Cut(text, endOfTerms) // the terms of Apache are the same in all copies
		if cut {
			terms += endOfTerms
		}
		for _, part := range []string{terms, rest} {
			words := strings.Join(strings.Fields(part), " ")
			if words == "" {
				continue
			}
			if first[words] == "" {
				first[words] = strings.Trim(part, "\n ")
			}
			if text := first[words]; !slices.Contains(users[text], module) {
				users[text] = append(users[text], module)
			}
		}
	}
	add("Go's standard library", filepath.Join(strings.TrimSpace(toolOutput(t, "go", "env", "GOROOT")), "LICENSE"))
	for _, line := range strings.Split(toolOutput(t, "go", "list", "-deps", "-tags", "gpu,mpi",
		"-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", "ppal/cmd/ppal"), "\n") {
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			continue
		}
		module, root := fields[0], fields[1]
		if !slices.Contains(modules, module) {
			modules = append(modules, module)
		}
		for dir := fields[2]; ; dir = filepath.Dir(dir) { // a directory may have a licence of its own
			for _, file := range legalFiles(t, dir) {
				add(module, file)
			}
			if dir == root {
				break
			}
		}
	}
	var out strings.Builder
	fmt.Fprintln(&out, "The licences and notices of the software that ppal links.")
	texts := make([]string, 0, len(users))
	for text, list := range users {
		slices.Sort(list)
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int {
		return cmp.Or(slices.Compare(users[a], users[b]), strings.Compare(a, b))
	})
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n\n    %s\n\n%s\n", strings.Repeat("=", 80), strings.Join(users[text], "\n    "), text)
	}
	return out.String(), modules
}

// legalFiles returns the files of a directory with a licence or a notice, also those in a directory
// named licenses.
func legalFiles(t *testing.T, dir string) (files []string) {
	entries := require.Value(os.ReadDir(dir))(t)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() && e.Name() == "licenses":
			inside := require.Value(filepath.Glob(filepath.Join(path, "*")))(t)
			files = append(files, inside...)
		case !e.IsDir() && legalNames.MatchString(e.Name()):
			files = append(files, path)
		}
	}
	return files
}

func toolOutput(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out := require.Value(cmd.Output())(t)
	return string(out)
}

// A program without GPU support does not link the device, its kernels, the package that checks them
// or Gorgonia's binding of the driver.
func TestProgramWithoutGPUSupport(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool: ", err)
	}
	deps := func(tags string) []string {
		cmd := exec.Command(tool, "list", "-e", "-tags", tags, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "ppal/cmd/ppal")
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1") // packages with the build tag gpu need cgo
		out := require.Value(cmd.Output())(t)
		return strings.Fields(string(out))
	}
	without, with := deps(""), deps("gpu")
	for _, path := range []string{"ppal/cuda", "ppal/internal/cuda/kernels", "gorgonia.org/cu", "ppal/internal/gpucheck", "ppal/internal/graphcases"} {
		if slices.Contains(without, path) {
			t.Errorf("without the tag gpu the program links %s", path)
		}
		if !slices.Contains(with, path) {
			t.Errorf("with the tag gpu the program does not link %s", path)
		}
	}
}
