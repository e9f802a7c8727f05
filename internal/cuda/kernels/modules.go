package kernels

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"fmt"
	"io"
	"path"
	"strings"
)

// archive holds the modules' PTX. compile.py writes it.
//
//go:embed ptx.zip
var archive string

// PTX opens the archive of the modules, one for each source and element type: means_f32.ptx.
// Sources that only float32 plans use have no float64 module. A module's comment lists its kernels,
// so that Load need not read the texts. The archive's comment is the checksum of the sources and of
// the modules.
func PTX() (*zip.Reader, error) {
	r, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("kernels: ptx.zip: %w", err)
	}
	return r, nil
}

// Entry is a kernel of a module: the name, and the size of each parameter in bytes.
type Entry struct {
	Name   string
	Params []int
}

// paramBytes holds the sizes of the parameter types.
var paramBytes = map[string]int{".u8": 1, ".s8": 1, ".b8": 1, ".u16": 2, ".s16": 2, ".b16": 2, ".u32": 4, ".s32": 4, ".b32": 4, ".f32": 4,
	".u64": 8, ".s64": 8, ".b64": 8, ".f64": 8}

// Entries lists the kernels of a module's PTX in order. A parameter that is neither a number nor an
// address has size 0.
func Entries(ptx string) []Entry {
	const begin = ".visible .entry "
	var list []Entry
	for {
		_, rest, ok := strings.Cut(ptx, begin)
		if !ok {
			return list
		}
		name, rest, _ := strings.Cut(rest, "(")
		params, rest, _ := strings.Cut(rest, ")")
		e := Entry{Name: strings.TrimSpace(name)}
		for p := range strings.SplitSeq(params, ",") {
			if fields := strings.Fields(p); len(fields) > 1 && fields[0] == ".param" {
				e.Params = append(e.Params, paramBytes[fields[1]])
			}
		}
		list = append(list, e)
		ptx = rest
	}
}

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
