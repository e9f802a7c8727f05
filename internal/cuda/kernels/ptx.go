package kernels

import (
	"archive/zip"
	_ "embed"
	"fmt"
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
