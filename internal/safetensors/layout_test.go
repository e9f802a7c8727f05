package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// TestWriteSorts checks the order of the tensors in a file: larger elements first, then names.
func TestWriteSorts(t *testing.T) {
	var b bytes.Buffer
	var f File
	for i, name := range []string{"b", "c", "a", "d"} {
		f.Tensors = append(f.Tensors, New(name, []Dtype{F32, F64, F64, F32}[i], []int{1}, []float64{float64(i)}))
	}
	require.NoError(t, Write(&b, f))
	read := require.Value(Read(&b))(t)
	var names []string
	for _, t := range read.Tensors {
		names = append(names, t.Name)
	}
	if !slices.Equal(names, []string{"a", "c", "b", "d"}) {
		t.Errorf("order %v, want a c b d", names)
	}
}

// TestLayoutSorts checks that the entries of a header may stand in any order.
func TestLayoutSorts(t *testing.T) {
	list := []entry{{name: "b", dtype: F64, shape: []int{2}, begin: 8, end: 24}, {name: "a", dtype: F64, begin: 0, end: 8}}
	if size, err := checkLayout(list); err != nil || size != 24 || list[0].name != "a" {
		t.Errorf("%d, %v, %v", size, err, list)
	}
}

// TestByteSize checks sizes at the limits of an int.
func TestByteSize(t *testing.T) {
	for _, test := range []struct {
		shape []int
		want  int64
		ok    bool
	}{
		{nil, 8, true}, {[]int{3, 2}, 48, true}, {[]int{0, math.MaxInt}, 0, true}, {[]int{-1}, 0, false}, {[]int{0, -1}, 0, false},
		{[]int{1 << 60}, 0, false}, {[]int{1<<60 - 1}, math.MaxInt64 - 7, true}, {[]int{1 << 40, 1 << 40}, 0, false},
	} {
		if size, ok := byteSize(F64, test.shape); size != test.want || ok != test.ok {
			t.Errorf("%v: %d, %t, want %d, %t", test.shape, size, ok, test.want, test.ok)
		}
	}
}

// TestWriteRefusesTensors checks the kinds of the errors for a tensor that no file can have.
func TestWriteRefusesTensors(t *testing.T) {
	for _, test := range []struct {
		f    File
		is   error
		want string
	}{
		{File{Tensors: []Tensor{{Name: "a", Dtype: "I8", Shape: []int{0}}}}, errDtype, `"I8"`},
		{File{Tensors: []Tensor{{Name: "a", Dtype: F64, Shape: []int{-1}}}}, errLayout, "0 bytes for shape [-1]"},
		{File{Metadata: map[string]string{"a\xff": "b"}}, nil, "is not UTF-8"},
		{File{Metadata: map[string]string{"a": "b\xff"}}, nil, "is not UTF-8"},
	} {
		err := Write(&bytes.Buffer{}, test.f)
		if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

// TestLongestHeader checks the limit of the header's length, which Read and Write share.
func TestLongestHeader(t *testing.T) {
	_, err := Read(bytes.NewReader(binary.LittleEndian.AppendUint64(nil, maxHeader)))
	if !errors.Is(err, errTruncated) || !strings.Contains(err.Error(), "has 0 bytes of 100000000") {
		t.Errorf("a header of the greatest length: %v", err)
	}
	// {"__metadata__":{"a":"b"}} has 26 bytes, and 6 spaces follow.
	f := File{Metadata: map[string]string{"a": "b"}}
	var b bytes.Buffer
	if err := write(&b, f, 32); err != nil || b.Len() != 40 {
		t.Errorf("a header of 32 bytes in a file of %d: %v", b.Len(), err)
	}
	if err := write(&bytes.Buffer{}, f, 31); err == nil || !strings.Contains(err.Error(), "has 32 bytes, at most 31") {
		t.Errorf("a header of 32 bytes instead of 31: %v", err)
	}
}

// TestErrorNamesTensor checks which tensor an error of the header names.
func TestErrorNamesTensor(t *testing.T) {
	const x = `"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	for _, test := range []struct{ header, tensor, want string }{
		{`{"x":{"dtype":1}}`, "x", `safetensors: byte 23: tensor "x": invalid header: dtype is not a string`},
		{"{" + x + `,"y":{"dtype":1}}`, "y", `safetensors: byte 76: tensor "y": invalid header: dtype is not a string`},
		{"{" + x + `,"__metadata__":1}`, "", "safetensors: byte 78: invalid header: 1 instead of {"},
		{`{"x":{"dtype":"F3`, "x", `safetensors: byte 22: tensor "x": invalid header: ends within the JSON object`},
	} {
		_, err := Read(bytes.NewReader(file(test.header, 8)))
		var format *FormatError
		if !errors.As(err, &format) || format.Tensor != test.tensor || err.Error() != test.want {
			t.Errorf("%s: %v\nwant %s", test.header, err, test.want)
		}
	}
}
