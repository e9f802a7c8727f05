//go:build gpu

package nvidia

/*
#include <stdlib.h>
#include "cublas.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"ppal/internal/cuda/driver"
)

// ProductsFile is the environment variable that names the cuBLAS library if the search does not
// find it. The value NoProducts means that no cuBLAS is used.
const (
	ProductsFile = "PPAL_CUBLAS"
	NoProducts   = "none"
)

// errNoProducts is wrapped by the error of a search that finds no cuBLAS. The device works without
// cuBLAS, so an error that wraps errNoProducts does not prevent opening the device.
var errNoProducts = errors.New("there is no cuBLAS")

// The newest and oldest major versions of cuBLAS with the functions that this package calls.
const (
	newestMajor = 13
	oldestMajor = 11
)

// library is the open cuBLAS library, which stays open for the life of the process.
type library struct {
	functions C.ppal_cublas
	file      string
}

// openProducts opens the cuBLAS file that the environment names. Without this variable it opens the
// newest cuBLAS that the driver supports, found by the loader or in the usual folders of toolkits
// and Python environments. If there is none, the error wraps errNoProducts.
func openProducts(driverMajor int) (*library, error) {
	if file := os.Getenv(ProductsFile); file == NoProducts {
		return nil, fmt.Errorf("cuda: %w: %s is %s", errNoProducts, ProductsFile, NoProducts)
	} else if file != "" {
		lib, err := openLibrary(file)
		if err != nil {
			return nil, fmt.Errorf("cuda: %w: %s=%s: %w", driver.ErrUnavailable, ProductsFile, file, err)
		}
		return lib, nil
	}
	folders := libraryFolders(os.Getenv)
	if lib := findLibrary(driverMajor, append([]string{""}, folders...)); lib != nil {
		return lib, nil
	}
	asked := askedFolders()
	if lib := findLibrary(driverMajor, asked); lib != nil {
		return lib, nil
	}
	folders = append(folders, asked...)
	newest := min(driverMajor, newestMajor)
	return nil, fmt.Errorf("cuda: %w: libcublas.so.%d to .%d was not found in %s; products are slower without it; "+
		"`pip install nvidia-cublas-cu12` or a CUDA toolkit has it, and %s can name the file",
		errNoProducts, newest, oldestMajor, strings.Join(append([]string{"$LD_LIBRARY_PATH"}, folders...), ", "), ProductsFile)
}

// findLibrary opens the newest cuBLAS that the driver supports in one of the folders, or returns
// nil. The folder "" is the loader's path.
func findLibrary(driverMajor int, folders []string) *library {
	for major := min(driverMajor, newestMajor); major >= oldestMajor; major-- {
		for _, folder := range folders {
			file := filepath.Join(folder, fmt.Sprintf("libcublas.so.%d", major))
			if _, err := os.Stat(file); err != nil && folder != "" {
				continue
			}
			if lib, err := openLibrary(file); err == nil {
				return lib
			}
		}
	}
	return nil
}

// askedFolders asks the python3 in PATH for the folders of its packages: the program in PATH may be
// a script, or a link that leads out of its environment.
func askedFolders() []string {
	const (
		patience = 10 * time.Second
		question = `import sysconfig; p = sysconfig.get_paths(); print(p["purelib"]); print(p["platlib"])`
	)
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	answer, err := exec.CommandContext(ctx, "python3", "-c", question).Output()
	if err != nil {
		return nil // without Python there are no packages of Python
	}
	var patterns []string
	for _, packages := range strings.Fields(string(answer)) {
		patterns = append(patterns, filepath.Join(packages, "nvidia", "*", "lib"))
	}
	return existing(patterns)
}

// existing returns the files that match the patterns, in order.
func existing(patterns []string) (files []string) {
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern) // the only error is a bad pattern: skip that folder
		for _, f := range found {
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	return files
}

// libraryFolders lists the existing folders in which toolkits and Python packages install
// libraries.
func libraryFolders(getenv func(string) string) []string {
	var patterns []string
	for _, home := range []string{getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda", "/usr/local/cuda-*"} {
		if home != "" {
			patterns = append(patterns, filepath.Join(home, "lib64"), filepath.Join(home, "targets", "*", "lib"))
		}
	}
	var environments []string
	if v := getenv("VIRTUAL_ENV"); v != "" {
		environments = append(environments, v)
	}
	if v := getenv("CONDA_PREFIX"); v != "" {
		environments = append(environments, v)
		patterns = append(patterns, filepath.Join(v, "lib"))
	}
	if python, err := exec.LookPath("python3"); err == nil {
		environments = append(environments, filepath.Dir(filepath.Dir(python))) // of .../bin/python3
		if file, err := filepath.EvalSymlinks(python); err == nil {
			environments = append(environments, filepath.Dir(filepath.Dir(file)))
		}
	}
	if home := getenv("HOME"); home != "" {
		environments = append(environments, filepath.Join(home, ".local"))
	}
	environments = append(environments, "/usr/local", "/usr")
	for _, e := range environments {
		for _, packages := range []string{"site-packages", "dist-packages"} {
			patterns = append(patterns, filepath.Join(e, "lib", "python3*", packages, "nvidia", "*", "lib"))
		}
	}
	return existing(patterns)
}

// openLibrary opens one file. It opens the library's companion, cublasLt, in the same folder first,
// because not every copy of cuBLAS finds its companion.
func openLibrary(file string) (*library, error) {
	lib := &library{file: file}
	path := C.CString(file)
	defer C.free(unsafe.Pointer(path))
	var companion *C.char
	if folder, name := filepath.Split(file); folder != "" {
		companion = C.CString(filepath.Join(folder, strings.Replace(name, "libcublas", "libcublasLt", 1)))
		defer C.free(unsafe.Pointer(companion))
	}
	var why [512]C.char
	if C.ppal_cublas_open(&lib.functions, path, companion, &why[0], C.size_t(len(why))) != 0 {
		return nil, errors.New(C.GoString(&why[0]))
	}
	return lib, nil
}

// version returns the library's name and version.
func (l *library) version() string {
	var v [3]C.int
	if C.ppal_cublas_version(&l.functions, &v[0]) != 0 {
		return "cuBLAS of unknown version"
	}
	return fmt.Sprintf("cuBLAS %d.%d.%d", v[0], v[1], v[2])
}

// allocFailed is the cublasStatus_t for out of memory.
const allocFailed = 3

// failed returns the error of a failed cuBLAS call.
func (l *library) failed(operation, call string, status C.int) *driver.Error {
	e := &driver.Error{
		Operation: operation, Call: call, Code: int(status),
		Name: C.GoString(C.ppal_cublas_name(&l.functions, status)), Detail: C.GoString(C.ppal_cublas_string(&l.functions, status)),
	}
	if status == allocFailed {
		e.Err = driver.ErrOutOfMemory
	}
	e.File, e.Line = caller()
	return e
}
