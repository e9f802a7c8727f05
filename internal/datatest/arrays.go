package datatest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Array is an array of NumPy for tests.
type Array struct {
	Name    string // in an archive
	Type    string // "<f4", ">i8", "|u1", "<U3" ...
	Fortran bool
	Shape   []int
	// the elements, the last index fastest: numbers as NumPy would write them in the type, or texts
	Numbers []float64
	Texts   []string
}

// NPY returns a .npy file (NEP 1, version 1.0), as numpy.save writes it.
func (a Array) NPY() []byte {
	var shape strings.Builder
	for _, n := range a.Shape {
		fmt.Fprintf(&shape, "%d, ", n)
	}
	dims := strings.TrimSuffix(shape.String(), " ")
	if len(a.Shape) > 1 {
		dims = strings.TrimSuffix(dims, ",")
	}
	order := "False"
	if a.Fortran {
		order = "True"
	}
	return NPYFile(fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", a.Type, order, dims), a.elements())
}

// NPYFile returns a .npy file with any header and elements.
func NPYFile(header string, elements []byte) []byte {
	const before, align = 10, 64
	header += strings.Repeat(" ", align-(before+len(header)+1)%align) + "\n"
	out := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	return append(append(out, header...), elements...)
}

// elements returns the bytes of the elements in the order of the file.
func (a Array) elements() (out []byte) {
	n := max(len(a.Numbers), len(a.Texts))
	index := make([]int, len(a.Shape))
	for i := range n {
		at := i
		if a.Fortran { // element i of the file has the first index fastest
			for k, rest := 0, i; k < len(index); k++ {
				index[k], rest = rest%a.Shape[k], rest/a.Shape[k]
			}
			at = 0
			for k, n := range a.Shape {
				at = at*n + index[k]
			}
		}
		out = append(out, a.element(at)...)
	}
	return out
}

// element returns the bytes of an element.
func (a Array) element(i int) []byte {
	var order binary.AppendByteOrder = binary.LittleEndian
	if a.Type[0] == '>' {
		order = binary.BigEndian
	}
	size, _ := strconv.Atoi(a.Type[2:])
	switch a.Type[1] {
	case 'U':
		var out []byte
		for _, c := range a.Texts[i] {
			out = order.AppendUint32(out, uint32(c))
		}
		return append(out, make([]byte, 4*size-len(out))...)
	case 'S':
		return append([]byte(a.Texts[i]), make([]byte, size-len(a.Texts[i]))...)
	}
	x := a.Numbers[i]
	bits := uint64(int64(x))
	switch {
	case a.Type[1] == 'f' && size == 2:
		bits = uint64(halfBits(x))
	case a.Type[1] == 'f' && size == 4:
		bits = uint64(math.Float32bits(float32(x)))
	case a.Type[1] == 'f':
		bits = math.Float64bits(x)
	}
	switch size {
	case 1:
		return []byte{byte(bits)}
	case 2:
		return order.AppendUint16(nil, uint16(bits))
	case 4:
		return order.AppendUint32(nil, uint32(bits))
	}
	return order.AppendUint64(nil, bits)
}

// halfBits returns the number of 16 bits whose value is x.
func halfBits(x float64) uint16 {
	if math.IsNaN(x) {
		return 0x7e00
	}
	bits, ok := halves()[math.Float64bits(x)]
	if !ok {
		panic(fmt.Sprintf("no number of 16 bits is %v", x))
	}
	return bits
}

// halves has the numbers of 16 bits by the bits of their values.
var halves = sync.OnceValue(func() map[uint64]uint16 {
	encoded := map[uint64]uint16{}
	for bits := range 1 << 15 {
		exponent, fraction := bits>>10, float64(bits&1023)
		value := math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			value = math.Ldexp(fraction, -24)
		case exponent == 31 && fraction > 0:
			continue
		case exponent == 31:
			value = math.Inf(1)
		}
		encoded[math.Float64bits(value)], encoded[math.Float64bits(-value)] = uint16(bits), uint16(bits)|1<<15
	}
	return encoded
})

// NPZ returns an archive of arrays, as numpy.savez or numpy.savez_compressed writes it.
func NPZ(t testing.TB, compressed bool, arrays ...Array) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	method := zip.Store
	if compressed {
		method = zip.Deflate
	}
	for _, a := range arrays {
		f, err := w.CreateHeader(&zip.FileHeader{Name: a.Name + ".npy", Method: method})
		if err == nil {
			_, err = f.Write(a.NPY())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
