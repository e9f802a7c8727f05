package kernels

import (
	"bytes"
	"compress/gzip"
	"io/fs"
)

// SetBinaries replaces the compiled modules of a set: their contents by the names of PTX files.
func SetBinaries(s *Set, of map[string]string, architecture string) {
	files := binaryFiles{}
	for file, content := range of {
		ptx, err := fs.ReadFile(s.texts, file)
		if err != nil {
			panic(err)
		}
		files["cubins/"+binaryName(file, string(ptx), architecture)] = content
	}
	s.binaries = files
}

// binaryFiles holds compressed files by name.
type binaryFiles map[string]string

func (f binaryFiles) ReadFile(name string) ([]byte, error) {
	content, ok := f[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}
