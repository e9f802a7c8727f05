// Gen writes the list of the driver's functions that package nvidia and gorgonia.org/cu call: one SYMBOL(number, name) a line, for shim.c.
//
// It compiles both (they need no driver, only cuda.h) and reads which names their objects leave undefined.
package main

import (
	"bytes"
	"debug/elf"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("gen: ")
	out := flag.String("o", "symbols.h", "the `file` to write")
	flag.Parse()
	list, err := symbols("gorgonia.org/cu", "ppal/cuda/nvidia")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*out, list, 0o644); err != nil {
		log.Fatal(err)
	}
}

// driverName is how the driver's functions are called.
var driverName = regexp.MustCompile(`^cu[A-Z]\w*$`)

// symbols is the list for the packages.
func symbols(packages ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "ppal-symbols-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	all := map[string]bool{}
	for i, p := range packages {
		file := filepath.Join(dir, strconv.Itoa(i)+".a")
		build := exec.Command("go", "build", "-tags", "gpu", "-o", file, p)
		build.Env = append(os.Environ(), "CGO_ENABLED=1")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build %s: %w\n%s", p, err, out)
		}
		names, err := undefined(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		maps.Copy(all, names)
	}
	delete(all, "cuInit") // shim.c has its own
	var b bytes.Buffer
	fmt.Fprintln(&b, "// Made by `go generate`; a test compares it with what the packages call.")
	for i, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "SYMBOL(%d, %s)\n", i, name)
	}
	return b.Bytes(), nil
}

// undefined are the driver's functions that the objects of an archive call and that none of them is the home of. The trampolines
// themselves are hidden, and count as undefined.
func undefined(archive string) (map[string]bool, error) {
	content, err := os.ReadFile(archive)
	if err != nil {
		return nil, err
	}
	called, own := map[string]bool{}, map[string]bool{}
	for _, object := range members(content) {
		f, err := elf.NewFile(bytes.NewReader(object))
		if err != nil {
			continue // Go's own object
		}
		list, err := f.Symbols()
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if !driverName.MatchString(s.Name) {
				continue
			}
			switch {
			case s.Section == elf.SHN_UNDEF:
				called[s.Name] = true
			case elf.ST_VISIBILITY(s.Other) == elf.STV_DEFAULT:
				own[s.Name] = true
			}
		}
	}
	for name := range own {
		delete(called, name)
	}
	return called, nil
}

const (
	archiveMagic  = "!<arch>\n"
	archiveHeader = 60 // bytes: name 16, date 12, owner 6, group 6, mode 8, size 10, end 2
)

// members are the files of an ar archive.
func members(archive []byte) [][]byte {
	rest, found := bytes.CutPrefix(archive, []byte(archiveMagic))
	var all [][]byte
	for found && len(rest) >= archiveHeader {
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		rest = rest[archiveHeader:]
		if err != nil || size > len(rest) {
			break
		}
		all = append(all, rest[:size])
		rest = rest[min(size+size%2, len(rest)):]
	}
	return all
}
