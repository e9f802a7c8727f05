// Package datatest has what the tests of several packages of data share.
package datatest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// environment is the variable with the folder of the published files.
const environment = "PPAL_DATA"

// CheckError checks that err wraps want, contains text, and is one line.
func CheckError(t *testing.T, err, want error, text string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	if s := err.Error(); !strings.Contains(s, text) || strings.Contains(s, "\n") || !strings.HasPrefix(s, "datasets: ") {
		t.Errorf("error %q does not say %q in one line", s, text)
	}
}

// CheckFileError checks an error of a file to which the package datasets later adds its name.
func CheckFileError(t *testing.T, err, want error, text string) {
	t.Helper()
	CheckError(t, fmt.Errorf("datasets: %w", err), want, text)
}

// Again is a reader that repeats a text without end.
type Again string

func (r Again) Read(p []byte) (int, error) {
	for n := 0; n < len(p); n += copy(p[n:], r) {
	}
	return len(p), nil
}

// IDX returns an IDX file of 8-bit values.
func IDX(data []byte, dims ...uint32) []byte {
	out := []byte{0, 0, 8, byte(len(dims))}
	for _, n := range dims {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	return append(out, data...)
}

func Gzipped(data []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	w.Write(data)
	w.Close()
	return buf.Bytes()
}

// Write writes a file under dir and returns its path.
func Write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// RealData returns the folder of published files in $PPAL_DATA.
func RealData(t testing.TB) string {
	t.Helper()
	dir := os.Getenv(environment)
	if dir == "" {
		t.Skipf("%s is not set: real files are not tested", environment)
	}
	return dir
}

// RowsText returns a file with a header and rows that the function writes.
func RowsText(header string, rows int, row func(i int) string) string {
	var text strings.Builder
	text.WriteString(header + "\n")
	for i := range rows {
		text.WriteString(row(i) + "\n")
	}
	return text.String()
}

// ParquetFile returns a Parquet file of two columns, named x and y by default: numbers, and texts
// of one letter each.
func ParquetFile(t *testing.T, numbers []float64, letters string, names ...string) []byte {
	t.Helper()
	if names == nil {
		names = []string{"x", "y"}
	}
	return ParquetOf(t, 1, []Column{Numbers(names[0], numbers...), Texts(names[1], strings.Split(letters, "")...)})
}

// Once is a reader that fails once and then goes on.
type Once struct {
	Parts []string
	Err   error
}

func (o *Once) Read(p []byte) (int, error) {
	if len(o.Parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, o.Parts[0])
	if o.Parts[0] = o.Parts[0][n:]; o.Parts[0] != "" {
		return n, nil
	}
	if o.Parts = o.Parts[1:]; len(o.Parts) == 1 {
		return n, o.Err
	}
	return n, nil
}
