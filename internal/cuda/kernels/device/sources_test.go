package device_test

import (
	"archive/zip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/cuda/kernels"
	"ppal/internal/cuda/kernels/device"
	"ppal/internal/require"
)

// sources lists the embedded files with one of the endings, in alphabetical order.
func sources(t *testing.T, endings ...string) (names []string) {
	t.Helper()
	for _, ending := range endings {
		list, err := fs.Glob(device.Sources, "*"+ending)
		if err != nil || len(list) == 0 {
			t.Fatalf("no source *%s: %v", ending, err)
		}
		names = append(names, list...)
	}
	slices.Sort(names)
	return names
}

// read returns the text of a file of this folder.
func read(t *testing.T, name string) string {
	t.Helper()
	text := require.Value(os.ReadFile(name))(t)
	return string(text)
}

// module returns the PTX of a module.
func module(t *testing.T, archive *zip.Reader, name string) string {
	t.Helper()
	text := require.Value(fs.ReadFile(archive, name))(t)
	return string(text)
}

// float32Only lists the sources that compile.py compiles for float32 only.
func float32Only(t *testing.T) []string {
	t.Helper()
	list := regexp.MustCompile(`(?m)^FLOAT32_ONLY = \{(.*?)\}`).FindStringSubmatch(read(t, "../compile.py"))
	if list == nil {
		t.Fatal("compile.py has no FLOAT32_ONLY")
	}
	var names []string
	for _, m := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(list[1], -1) {
		names = append(names, m[1]+".cu")
	}
	slices.Sort(names)
	return names
}

// archive opens the modules' PTX.
func archive(t *testing.T) *zip.Reader {
	t.Helper()
	return require.Value(kernels.PTX())(t)
}

// The committed PTX was compiled from these sources: compile.py writes the checksum after it has
// compiled all of them. `make kernels-check` compiles them again and compares.
func TestPTXIsOfTheseSources(t *testing.T) {
	var lines []string
	line := func(name, content string) {
		lines = append(lines, fmt.Sprintf("%s %x\n", name, sha256.Sum256([]byte(content))))
	}
	modules := archive(t)
	for _, m := range modules.File {
		line(m.Name, module(t, modules, m.Name))
	}
	for _, pattern := range []string{"device/*.cu", "device/*.cuh", "compile.py", "requirements.txt"} {
		files, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no file %s: %v", pattern, err)
		}
		for _, f := range files {
			line(filepath.ToSlash(f[len("../"):]), read(t, f))
		}
	}
	slices.Sort(lines)
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "")))); got != modules.Comment {
		t.Error("the PTX was compiled from other sources, or changed afterwards: run make kernels-ptx")
	}
}

// The host's compiler compiles every source once, in a namespace with the name of the source. It
// compiles the sources of digits for float32 only, as NVRTC does.
func TestHostCompilesEverySource(t *testing.T) {
	all := read(t, "host_sources.h")
	both, only, ok := strings.Cut(all, "#ifdef PPAL_F32")
	if !ok {
		t.Fatal("host_sources.h has no part for float32")
	}
	include := regexp.MustCompile(`namespace (\w+)_cu \{\n#include "(\w+)\.cu"\n\}`)
	included := func(part string) (names []string) {
		for _, m := range include.FindAllStringSubmatch(part, -1) {
			if m[1] != m[2] {
				t.Errorf("%s.cu is in the namespace %s_cu", m[2], m[1])
			}
			names = append(names, m[2]+".cu")
		}
		slices.Sort(names)
		return names
	}
	if diff := cmp.Diff(float32Only(t), included(only)); diff != "" {
		t.Errorf("the sources for float32 only, in compile.py and in host_sources.h:\n%s", diff)
	}
	got := included(both + only)
	if diff := cmp.Diff(sources(t, ".cu"), got); diff != "" {
		t.Errorf("the sources, and those that host_sources.h includes:\n%s", diff)
	}
	if n := strings.Count(all, ".cu\""); n != len(got) {
		t.Errorf("host_sources.h includes %d sources, %d of them in a namespace", n, len(got))
	}
}

// A source includes only headers of this folder, and every header is included by a source.
func TestEveryHeaderIsIncluded(t *testing.T) {
	headers, used := sources(t, ".cuh"), map[string]bool{}
	include := regexp.MustCompile(`(?m)^#include [<"](.*)[>"]`)
	for _, name := range sources(t, ".cu", ".cuh") {
		text := require.Value(device.Sources.ReadFile(name))(t)
		for _, m := range include.FindAllStringSubmatch(string(text), -1) {
			if used[m[1]] = true; !slices.Contains(headers, m[1]) && m[1] != "host.h" {
				t.Errorf("%s includes %s, which NVRTC does not find", name, m[1])
			}
		}
	}
	for _, name := range headers {
		if !used[name] {
			t.Errorf("nothing includes %s", name)
		}
	}
}

// Every kernel of a source, or of a macro in the headers that the source includes, is exported to
// the test double.
func TestEveryKernelIsExported(t *testing.T) {
	kernel, export := regexp.MustCompile(`(?m)^\s*KERNEL(?:_WIDE)?\((\w+)`), regexp.MustCompile(`(?m)^\s*EXPORT\((\w+)\)`)
	names := func(re *regexp.Regexp, text string) (list []string) {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			list = append(list, m[1])
		}
		return list
	}
	for _, source := range sources(t, ".cu") {
		text := require.Value(device.Sources.ReadFile(source))(t)
		for _, m := range regexp.MustCompile(`#include "(\w+\.cuh)"`).FindAllStringSubmatch(string(text), -1) {
			text = append(text, read(t, m[1])...)
		}
		defined := names(kernel, string(text))
		if len(defined) == 0 {
			t.Errorf("%s defines no kernel", source)
		}
		if diff := cmp.Diff(defined, names(export, string(text))); diff != "" {
			t.Errorf("%s: the kernels and the exported kernels:\n%s", source, diff)
		}
	}
}

// The committed PTX of each source has the kernels of the source, with as many parameters. The
// check needs a C++ preprocessor, not CUDA.
func TestPTXHasTheSourcesKernels(t *testing.T) {
	tool, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("no C++ preprocessor: ", err)
	}
	modules, head := archive(t), regexp.MustCompile(`extern "C" __global__ void __launch_bounds__\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\) (\w+) ?\(([^()]*)\)`)
	for _, source := range sources(t, ".cu") {
		for _, dtype := range []string{"f32", "f64"} {
			if dtype == "f64" && slices.Contains(float32Only(t), source) {
				continue
			}
			text, err := exec.Command(tool, "-E", "-P", "-x", "c++", "-DPPAL_"+strings.ToUpper(dtype), source).Output()
			if err != nil {
				t.Fatalf("%s: %v", source, err)
			}
			defined := map[string]int{}
			for _, m := range head.FindAllStringSubmatch(string(text), -1) {
				defined[m[1]] = strings.Count(m[2], ",") + 1
			}
			compiled := map[string]int{}
			for _, e := range kernels.Entries(module(t, modules, strings.TrimSuffix(source, ".cu")+"_"+dtype+".ptx")) {
				compiled[e.Name] = len(e.Params)
			}
			if diff := cmp.Diff(defined, compiled); diff != "" || len(defined) == 0 {
				t.Errorf("%s, %s: the kernels of the source and of the PTX, with their numbers of parameters (make kernels-ptx):\n%s", source, dtype, diff)
			}
		}
	}
}
