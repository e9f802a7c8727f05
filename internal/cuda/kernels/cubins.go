package kernels

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"fmt"
	"io"
	"path"
	"strings"
)

// binaries holds the modules that `make gpu-cubins` compiled, if any.
//
//go:embed cubins
var binaries embed.FS

// architectures are the targets of the compiled modules, by the major number of the compute
// capability: a module runs on all devices with the same major number.
var architectures = map[int]string{8: "sm_80", 9: "sm_90"}

// binaryName returns the name of a PTX file's compiled module.
func binaryName(file, ptx, architecture string) string {
	sum := sha256.Sum256([]byte(ptx))
	return fmt.Sprintf("%s.%s.%x.gz", strings.TrimSuffix(file, ".ptx"), architecture, sum[:8])
}

// compiled returns the compiled module of a PTX file for a device, or nil if there is none.
func compiled(files embedded, file, ptx string, major int) []byte {
	architecture, known := architectures[major]
	if !known {
		return nil
	}
	packed, err := files.ReadFile(path.Join("cubins", binaryName(file, ptx, architecture)))
	if err != nil {
		return nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	module, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return module
}

// embedded is an embedded folder.
type embedded interface {
	ReadFile(name string) ([]byte, error)
}
