//go:build gpu

package double

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"ppal/internal/disk"
)

// recipe says how the library is made.
type recipe struct {
	cc, cxx []string // compilers of C and C++, with the options
	units   []string // files to compile
	others  []string // files that the units include
}

// Library returns the file of a driver and a cuBLAS without a GPU, one library because they share
// their state, with the host's kernels and products. Its sources are in
// internal/cuda/nvidia/testdata/stub, and stub.h describes the environment variables that make the
// library fail. It compiles the
// library in the folder build/gpustub of this checkout, unless a library with the same sources,
// compilers and options is there: several packages test with the library, and compiling takes long.
// It needs cc and c++.
func Library() (file string, err error) {
	root, err := checkout()
	if err != nil {
		return "", err
	}
	r, err := stub(filepath.Join(root, "internal", "cuda"))
	if err != nil {
		return "", err
	}
	return r.build(filepath.Join(root, "build", "gpustub"))
}

// checkout returns the root of the checkout that contains the working directory. The path of this
// source file is not known in programs that are built with -trimpath.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("library: %s is not in a checkout", dir)
		}
	}
}

// stub returns the recipe of the library. cuda is the folder internal/cuda.
func stub(cuda string) (recipe, error) {
	r := recipe{
		cc:  []string{"cc", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"},
		cxx: []string{"c++", "-fPIC", "-std=c++17", "-O1", "-Wno-unknown-pragmas", "-fvisibility=hidden"},
	}
	device := filepath.Join(cuda, "kernels", "device")
	for _, list := range []struct {
		to      *[]string
		pattern string
	}{
		{&r.units, filepath.Join(device, "*.cc")}, {&r.units, filepath.Join(cuda, "double", "multiply.cc")},
		{&r.units, filepath.Join(cuda, "nvidia", "testdata", "stub", "*.c")},
		{&r.others, filepath.Join(device, "*.cu")}, {&r.others, filepath.Join(device, "*.cuh")}, {&r.others, filepath.Join(device, "*.h")},
		{&r.others, filepath.Join(cuda, "double", "*.h")}, {&r.others, filepath.Join(cuda, "nvidia", "testdata", "stub", "*.h")},
	} {
		files, err := filepath.Glob(list.pattern)
		if err != nil || len(files) == 0 {
			return r, errors.Join(err, fmt.Errorf("library: no file is %s", list.pattern))
		}
		*list.to = append(*list.to, files...)
	}
	return r, nil
}

// build returns the library's file in a folder, and makes the file if it is not there. Processes
// may build at the same time.
func (r recipe) build(folder string) (file string, err error) {
	name, err := r.name()
	if err != nil {
		return "", err
	}
	file = filepath.Join(folder, name)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(folder, "new-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	made := filepath.Join(dir, name)
	if err := r.compile(dir, made); err != nil {
		return "", err
	}
	return file, disk.Move(made, file)
}

// name returns the library's name, which tells its sources, compilers and options.
func (r recipe) name() (string, error) {
	sum := sha256.New()
	for _, compiler := range [][]string{r.cc, r.cxx} {
		version, err := exec.Command(compiler[0], "--version").Output()
		if err != nil {
			return "", fmt.Errorf("library: %s --version: %w", compiler[0], err)
		}
		fmt.Fprintf(sum, "%q %q\n", compiler, version)
	}
	for _, file := range append(append([]string{}, r.units...), r.others...) {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%q %q\n", filepath.Base(file), content)
	}
	return fmt.Sprintf("libcuda-%x.so", sum.Sum(nil)[:8]), nil
}

// compile compiles all units at the same time, with the objects in the folder dir, and links them.
func (r recipe) compile(dir, library string) error {
	link := append(append([]string{}, r.cxx...), "-shared", "-o", library)
	var all sync.WaitGroup
	errs := make([]error, len(r.units))
	for i, unit := range r.units {
		compiler := r.cxx
		if filepath.Ext(unit) == ".c" {
			compiler = r.cc
		}
		object := filepath.Join(dir, fmt.Sprint(i, ".o"))
		link = append(link, object)
		all.Go(func() { errs[i] = run(append(append([]string{}, compiler...), "-c", "-o", object, unit)) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return run(link)
}

func run(command []string) error {
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command[0], err, out)
	}
	return nil
}
