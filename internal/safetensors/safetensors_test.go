package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/internal/require"
)

// file returns a file: the length of the header, the header, and the given number of data bytes.
func file(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

// Reading and writing the file of the reference implementation (testdata/reference.py) gives the
// same bytes.
func TestReference(t *testing.T) {
	want := require.Value(os.ReadFile("testdata/reference.safetensors"))(t)
	got := require.Value(Read(iotest.OneByteReader(bytes.NewReader(want))))(t)
	content := File{
		Metadata: map[string]string{"format": "np <&> é"},
		Tensors: []Tensor{
			New("bias", F64, []int{2}, []float64{0.1, -0.2}),
			New("empty", F64, []int{0, 3}, nil),
			New(`né "quoted" <&>`, F32, []int{1}, []float64{1}),
			New("scalar", F32, nil, []float64{7}),
			New("weight", F32, []int{2, 3}, []float64{1.5, -2, 0.25, 0, 3, -0.125}),
		},
	}
	if diff := cmp.Diff(content, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("Read (-want +got):\n%s", diff)
	}
	var b bytes.Buffer
	require.NoError(t, Write(&b, content))
	if diff := cmp.Diff(want, b.Bytes()); diff != "" {
		t.Errorf("Write (-want +got):\n%s", diff)
	}
}

// Model files that PyTorch and the package models wrote are valid. Writing and reading does not
// change their content.
func TestModelFiles(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/models/*.safetensors")
	if err != nil || len(paths) == 0 {
		t.Fatal(len(paths), err)
	}
	for _, path := range paths {
		data := require.Value(os.ReadFile(path))(t)
		file, err := Read(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var b bytes.Buffer
		if err := Write(&b, file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if strings.HasPrefix(filepath.Base(path), "ppal_") && !bytes.Equal(data, b.Bytes()) {
			t.Errorf("%s: Write changed the bytes", path)
		}
		again, err := Read(&b)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		byName := cmpopts.SortSlices(func(a, b Tensor) bool { return a.Name < b.Name })
		if diff := cmp.Diff(file, again, byName); diff != "" {
			t.Errorf("%s (-first +second):\n%s", path, diff)
		}
	}
}

func TestFloat64sAreExact(t *testing.T) {
	values := []float64{0, math.Copysign(0, -1), 1.0 / 3, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1)}
	if diff := cmp.Diff(values, New("x", F64, []int{6}, values).Float64s()); diff != "" {
		t.Error(diff)
	}
	got := New("x", F32, []int{6}, values).Float64s()
	for i, v := range values {
		if got[i] != float64(float32(v)) {
			t.Errorf("F32 of %v is %v", v, got[i])
		}
	}
}

func TestReadRefuses(t *testing.T) {
	const x = `"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	tests := []struct {
		name   string
		input  []byte
		kind   error
		offset int64
		detail string
	}{
		{"empty", nil, errTruncated, 0, "8 bytes"},
		{"short length", []byte{1, 2, 3}, errTruncated, 3, "8 bytes"},
		{"huge length", bytes.Repeat([]byte{255}, 16), errHeader, 0, "18446744073709551615"},
		{"length over the limit", binary.LittleEndian.AppendUint64(nil, maxHeader+1), errHeader, 0, "100000001"},
		{"short header", file("{}", 0)[:9], errTruncated, 9, "1 bytes of 2"},
		{"no header", file("", 0), errHeader, 8, "begin with {"},
		{"leading space", file(" {}", 0), errHeader, 8, "begin with {"},
		{"not UTF-8", file("{\"\xff\":1}", 0), errHeader, 8, "UTF-8"},
		{"unclosed", file(`{"x":{"dtype":"F32"`, 0), errHeader, 27, "ends within"},
		{"not JSON", file(`{x}`, 0), errHeader, 9, "invalid character"},
		{"two objects", file(`{}{}`, 0), errHeader, 11, "follows"},
		{"NUL padding", file("{}\x00", 0), errHeader, 10, "follows"},
		{"not an object", file(`{"x":[]}`, 0), errHeader, 14, "[ instead of {"},
		{"twice", file("{"+x+","+x+"}", 16), errHeader, 65, "twice"},
		{"dtype twice", file(`{"x":{"dtype":"F32","dtype":"F32"}}`, 0), errHeader, 35, "twice"},
		{"metadata not a string", file(`{"__metadata__":{"a":1}}`, 0), errHeader, 30, `metadata "a"`},
		{"metadata not an object", file(`{"__metadata__":null}`, 0), errHeader, 28, "instead of {"},
		{"half precision", file(`{"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}`, 4), errDtype, 28, "BF16"},
		{"dtype a number", file(`{"x":{"dtype":1}}`, 0), errHeader, 23, "not a string"},
		{"key missing", file(`{"x":{"dtype":"F32","shape":[2]}}`, 8), errHeader, 40, "missing"},
		{"key unknown", file(`{"x":{"order":"C"}}`, 0), errHeader, 21, `"order"`},
		{"negative size", file(`{"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8), errHeader, 39, "-2"},
		{"fractional size", file(`{"x":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}}`, 8), errHeader, 40, "2.0"},
		{"size a string", file(`{"x":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}}`, 8), errHeader, 40, "integer"},
		{"size over 64 bits", file(`{"x":{"dtype":"F32","shape":[99999999999999999999]}}`, 8), errHeader, 57, "999"},
		{"size overflows", file(`{"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0), errLayout, 81, "too large"},
		{"one offset", file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0]}}`, 8), errHeader, 58, "1 data_offsets"},
		{"offsets reversed", file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8), errLayout, 61, "[8, 0]"},
		{"wrong length", file(`{"x":{"dtype":"F64","shape":[2],"data_offsets":[0,8]}}`, 8), errLayout, 61, "16 bytes"},
		{"hole at the start", file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12), errLayout, 62, "hole"},
		{"overlap", file("{"+x+`,"y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12), errLayout, 115, "inside"},
		{"same place", file("{"+x+`,"y":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), errLayout, 114, "inside"},
		{"data missing", file("{"+x+"}", 7), errTruncated, 69, "7 bytes of 8"},
		{"data promised", file(`{"x":{"dtype":"F64","shape":[1000000000000],"data_offsets":[0,8000000000000]}}`, 8), errTruncated, 94, "of 8000000000000"},
		{"data left over", file("{"+x+"}", 9), errLayout, 70, "follow the last"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(test.input))
			var format *FormatError
			if !errors.As(err, &format) || !errors.Is(err, test.kind) {
				t.Fatalf("got %v, want a FormatError of %v", err, test.kind)
			}
			if format.Offset != test.offset || !strings.Contains(err.Error(), test.detail) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want byte %d and %q on one line", err, test.offset, test.detail)
			}
		})
	}
}

func TestReadPassesReaderErrors(t *testing.T) {
	want := errors.New("disk on fire")
	valid := file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8)
	for n := range len(valid) {
		_, err := Read(&failing{valid[:n], want})
		if !errors.Is(err, want) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
}

// failing returns its bytes, then its error.
type failing struct {
	data []byte
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	if len(f.data) == 0 {
		return 0, f.err
	}
	n := copy(p, f.data)
	f.data = f.data[n:]
	return n, nil
}

func TestWriteRefuses(t *testing.T) {
	x := New("x", F32, []int{2}, []float64{1, 2})
	tests := []struct {
		name   string
		file   File
		detail string
	}{
		{"reserved name", File{Tensors: []Tensor{New(metadataKey, F32, nil, []float64{1})}}, metadataKey},
		{"name not UTF-8", File{Tensors: []Tensor{New("\xff", F32, nil, []float64{1})}}, `\xff`},
		{"same name", File{Tensors: []Tensor{x, x}}, `two tensors are named "x"`},
		{"dtype", File{Tensors: []Tensor{{Name: "x", Dtype: "F16", Shape: []int{1}, Data: []byte{0, 0}}}}, "F16"},
		{"too few values", File{Tensors: []Tensor{New("x", F32, []int{3}, []float64{1, 2})}}, "8 bytes for shape [3]"},
		{"negative size", File{Tensors: []Tensor{New("x", F32, []int{-1, -2}, []float64{1, 2})}}, "shape [-1 -2]"},
		{"metadata not UTF-8", File{Metadata: map[string]string{"a": "\xff"}}, `"a"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			err := Write(&b, test.file)
			if err == nil || !strings.Contains(err.Error(), test.detail) {
				t.Errorf("got %v, want %q", err, test.detail)
			}
			if b.Len() > 0 {
				t.Errorf("%d bytes were written all the same", b.Len())
			}
		})
	}
}

func TestWritePassesWriterErrors(t *testing.T) {
	want := errors.New("disk full")
	f := File{Tensors: []Tensor{New("x", F32, []int{2}, []float64{1, 2})}}
	for n := range 2 {
		if err := Write(&full{n, want}, f); !errors.Is(err, want) {
			t.Errorf("write %d: %v", n, err)
		}
	}
}

// full accepts n writes, then returns its error.
type full struct {
	n   int
	err error
}

func (f *full) Write(p []byte) (int, error) {
	if f.n == 0 {
		return 0, f.err
	}
	f.n--
	return len(p), nil
}

// FuzzRead checks that Read, for any bytes, returns an error or a file that Write accepts and that
// reads back unchanged.
func FuzzRead(f *testing.F) {
	reference := require.Value(os.ReadFile("testdata/reference.safetensors"))(f)
	f.Add(reference)
	f.Add(file(`{}`, 0))
	f.Add(file(`{"__metadata__":{"a":"b"},"x":{"dtype":"F64","shape":[1,2],"data_offsets":[0,16]}}  `, 16))
	f.Add(file(`{"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0))
	f.Add(bytes.Repeat([]byte{255}, 16))
	f.Fuzz(func(t *testing.T, input []byte) {
		read, err := Read(bytes.NewReader(input))
		if err != nil {
			var format *FormatError
			if !errors.As(err, &format) {
				t.Fatalf("not a FormatError: %v", err)
			}
			if format.Offset < 0 || format.Offset > int64(len(input)) {
				t.Fatalf("offset %d of %d bytes", format.Offset, len(input))
			}
			return
		}
		var b bytes.Buffer
		require.NoError(t, Write(&b, read))
		if b.Len()%8 != 0 && len(read.Tensors) == 0 {
			t.Fatalf("header of %d bytes", b.Len())
		}
		again := require.Value(Read(&b))(t)
		byName := cmpopts.SortSlices(func(a, b Tensor) bool { return a.Name < b.Name })
		if diff := cmp.Diff(read, again, byName, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
