// Package gpustub builds a driver, a cuBLAS and an NCCL without a GPU, for tests. The three are one
// library, because they share their state. Its sources are cuda/nvidia/testdata/stub, and stub.h
// describes the environment variables that make the library fail.
package gpustub

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Build compiles the library with the host's kernels and products in the folder dir, and returns
// its file. It needs cc and c++.
func Build(dir string) (file string, err error) {
	_, self, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(self), "..", "..", "cuda")
	var objects []string
	for _, source := range []string{"driver", "cublas", "nccl"} {
		object := filepath.Join(dir, source+".o")
		objects = append(objects, object)
		if err := compile("cc", "-c", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-o", object,
			filepath.Join(root, "nvidia", "testdata", "stub", source+".c")); err != nil {
			return "", err
		}
	}
	kernels, err := filepath.Glob(filepath.Join(root, "kernels", "device", "*.cc"))
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "libcuda.so.1")
	args := append([]string{"-shared", "-fPIC", "-std=c++17", "-O1", "-Wno-unknown-pragmas", "-fvisibility=hidden", "-o", file}, objects...)
	args = append(args, filepath.Join(root, "double", "multiply.cc"))
	return file, compile("c++", append(args, kernels...)...)
}

func compile(compiler string, args ...string) error {
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", compiler, err, out)
	}
	return nil
}
