package recordio

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/datatest"
	"ppal/internal/require"
)

// limits are the least and the largest number of each type, and a number that the type rounds.
var limits = map[string][]float64{
	"f2": {-65504, 65504, 5.9604644775390625e-08}, "f4": {-math.MaxFloat32, math.MaxFloat32, math.SmallestNonzeroFloat32},
	"f8": {-math.MaxFloat64, math.MaxFloat64, 5e-324}, "i1": {-128, 127, 3}, "i2": {-1 << 15, 1<<15 - 1, 3}, "i4": {-1 << 31, 1<<31 - 1, 3},
	"i8": {-1 << 63, 1 << 53, 3}, "u1": {0, 255, 3}, "u2": {0, 1<<16 - 1, 3}, "u4": {0, 1<<32 - 1, 3}, "u8": {0, 1 << 53, 3}, "b1": {0, 1, 1},
}

// each calls do for arrays of each type, byte order and element order, with one to four dimensions,
// in each kind of file.
func each(t *testing.T, do func(t *testing.T, a datatest.Array, content []byte)) {
	r := rand.New(rand.NewPCG(1, 2))
	for typ, extremes := range limits {
		for _, bytes := range "<>" {
			for _, fortran := range []bool{false, true} {
				for _, shape := range [][]int{{7}, {7, 1}, {7, 5}, {7, 2, 3}, {7, 2, 3, 4}} {
					n := 1
					for _, k := range shape {
						n *= k
					}
					a := datatest.Array{Name: "X", Type: string(bytes) + typ, Fortran: fortran, Shape: shape}
					for i := range n {
						x := float64(r.IntN(100)) // a number of every type but bool
						if typ == "b1" {
							x = float64(r.IntN(2))
						}
						if i < len(extremes) {
							x = extremes[i]
						}
						a.Numbers = append(a.Numbers, x)
					}
					if typ[0] == 'f' {
						a.Numbers[3], a.Numbers[4], a.Numbers[5], a.Numbers[6] = math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)
					}
					for name, content := range map[string][]byte{"npy": a.NPY(), "npz": datatest.NPZ(t, false, a), "compressed": datatest.NPZ(t, true, a)} {
						t.Run(fmt.Sprintf("%s/%s/fortran=%t/%v", name, a.Type, fortran, shape), func(t *testing.T) { do(t, a, content) })
					}
				}
			}
		}
	}
}

// sameNumbers compares the bits of numbers. All NaN are equal.
func sameNumbers(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// Read32 and Read64 return the numbers of any range of rows.
func TestNumbers(t *testing.T) {
	each(t, func(t *testing.T, want datatest.Array, content []byte) {
		list, err := open(bytes.NewReader(content), int64(len(content)))
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		a := list[0]
		if a.Rows() != 7 || len(a.Names()) != len(want.Numbers)/7 || a.Block() != (len(want.Shape) > 1) || a.Names()[0][:1] != "X" {
			t.Fatal(a.Rows(), a.Names())
		}
		for from := range 7 {
			for to := from; to <= 7; to++ {
				own := want.Numbers[from*a.columns : to*a.columns]
				double := make([]float64, len(own))
				require.NoError(t, readNumbers(a, double, from, to))
				if !slices.EqualFunc(own, double, sameNumbers) {
					t.Fatal(double, own)
				}
				if !a.Single() {
					continue
				}
				single := make([]float32, len(own))
				require.NoError(t, readNumbers(a, single, from, to))
				for i, x := range single {
					double[i] = float64(x)
				}
				if !slices.EqualFunc(own, double, sameNumbers) {
					t.Fatal(double, own)
				}
			}
		}
	})
}

// Texts of both types and byte orders lose the zeros at their end.
func TestTexts(t *testing.T) {
	want := []string{"a", "", "é", "日本 🙂", "a\x00b"}
	for _, typ := range []string{"<U5", ">U5", "|S20"} {
		a := datatest.Array{Name: "sex", Type: typ, Shape: []int{5}, Texts: want}
		content := datatest.NPZ(t, false, a)
		list := require.Value(open(bytes.NewReader(content), int64(len(content))))(t)
		raw := require.Value(list[0].bytes(nil, 0, 5))(t)
		var got []string
		for i := range want {
			got = append(got, string(list[0].appendText(nil, raw[i*list[0].size:])))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", typ, diff)
		}
	}
}

// Numbers as texts have the shortest form that their type distinguishes.
func TestNumbersAsTexts(t *testing.T) {
	for typ, c := range map[string]struct {
		x    float64
		want string
	}{
		"<f4": {float64(float32(0.1)), "0.1"}, ">f8": {0.1, "0.1"}, "<f2": {1.5, "1.5"}, "<i8": {-7, "-7"}, "|u1": {255, "255"}, "|b1": {1, "True"},
		"<u8": {1 << 53, "9007199254740992"}, "|i1": {-128, "-128"},
	} {
		content := datatest.Array{Type: typ, Shape: []int{1}, Numbers: []float64{c.x}}.NPY()
		list := require.Value(open(bytes.NewReader(content), int64(len(content))))(t)
		raw, _ := list[0].bytes(nil, 0, 1)
		if got := string(list[0].appendText(nil, raw)); got != c.want {
			t.Errorf("%s: %q, want %q", typ, got, c.want)
		}
	}
}

// damaged returns files that Open refuses, by a part of the error's text.
func damaged(t testing.TB) map[string][]byte {
	x := datatest.Array{Name: "X", Type: "<f4", Shape: []int{2, 3}, Numbers: make([]float64, 6)}
	y := datatest.Array{Name: "y", Type: "<i8", Shape: []int{3}, Numbers: make([]float64, 3)}
	good := x.NPY()
	file := func(header string) []byte { return datatest.NPYFile(header, make([]byte, 24)) }
	long := datatest.NPYFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", make([]byte, 24))
	long[8], long[9] = 0xff, 0xff
	version := bytes.Clone(good)
	version[6] = 9
	archive := datatest.NPZ(t, true, x)
	bomb := bytes.Clone(archive)
	at := bytes.LastIndex(bomb, []byte("PK\x01\x02"))
	copy(bomb[at+24:], []byte{0xff, 0xff, 0xff, 0x7f}) // the uncompressed size
	return map[string][]byte{
		"need 24 bytes, but the file has 20":                                             good[:len(good)-4],
		"need 24 bytes, but the file has 25":                                             append(bytes.Clone(good), 0),
		"NumPy header is missing or incomplete":                                          append([]byte(Magic), 1),
		"version 9":                                                                      version,
		"the header states a length of 65535 bytes":                                      long,
		"shape (4000000000, 6) need 96000000000":                                         file("{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 6), }"),
		"more elements than a file can hold":                                             file("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }"),
		"the header cannot be read":                                                      file("{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3), }"),
		"header cannot be read: \"{'shape'":                                              file("{'shape': (2, 3), 'descr': '<f4', }"),
		"header cannot be read: \"{'descr': '<f4', 'de":                                  file("{'descr': '<f4', 'descr': '<f4', 'shape': (2, 3), }"),
		"header cannot be read: \"()":                                                    file("()"),
		"header cannot be read: \"{'descr': '<f4', 'fortran_order': False, 'shape': (-2": file("{'descr': '<f4', 'fortran_order': False, 'shape': (-2, -3), }"),
		"structured elements are not supported":                                          file("{'descr': [('a', '<f4'), ('b', '<f4')], 'fortran_order': False, 'shape': (3,), }"),
		"pickled Python objects":                                                         file("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }"),
		`type "<c8"`:                                                                     file("{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }"),
		`type "<M8[D]"`:                                                                  file("{'descr': '<M8[D]', 'fortran_order': False, 'shape': (3,), }"),
		"the texts have 99999999 characters":                                             file("{'descr': '<U99999999', 'fortran_order': False, 'shape': (3,), }"),
		"is a single number":                                                             datatest.NPYFile("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", make([]byte, 8)),
		"gives more than 1048576 columns":                                                datatest.NPYFile("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 1048576, 1048576), }", nil),
		"array y has 3 rows, but array X has 2":                                          datatest.NPZ(t, false, x, y),
		"the archive has no arrays":                                                      datatest.NPZ(t, false),
		"the archive: zip":                                                               archive[:len(archive)-9],
		"compressed bytes expand to 2147483647":                                          bomb,
	}
}

func TestDamagedFiles(t *testing.T) {
	for says, content := range damaged(t) {
		if _, err := open(bytes.NewReader(content), int64(len(content))); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q in one line", err, says)
		}
	}
}

// A shape that does not fit the file's size allocates no memory for its elements.
func TestWrongShapeAllocatesNothing(t *testing.T) {
	content := datatest.NPYFile("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000), }", make([]byte, 100))
	const times, little = 100, 4 << 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		if _, err := open(bytes.NewReader(content), int64(len(content))); err == nil {
			t.Fatal("no error")
		}
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > times*little {
		t.Errorf("%d bytes, want at most %d", (after.TotalAlloc-before.TotalAlloc)/times, little)
	}
}

// isArchive distinguishes archives of arrays from other archives.
func TestIsArchive(t *testing.T) {
	x := datatest.Array{Name: "X", Type: "<f4", Shape: []int{1}, Numbers: []float64{1}}
	archive := datatest.NPZ(t, false, x)
	other := bytes.ReplaceAll(archive, []byte("X.npy"), []byte("X.txt"))
	if !isArchive(archive) || isArchive(other) || isArchive(archive[:31]) || isArchive(x.NPY()) {
		t.Error(isArchive(archive), isArchive(other), isArchive(archive[:31]), isArchive(x.NPY()))
	}
	if _, err := open(bytes.NewReader(other), int64(len(other))); err == nil || !strings.Contains(err.Error(), `the file "X.txt"`) {
		t.Error(err)
	}
}

// FuzzOpen reads any file without a panic, and allocates no more than the file explains.
func FuzzOpen(f *testing.F) {
	x := datatest.Array{Name: "X", Type: ">f2", Fortran: true, Shape: []int{2, 3, 2}, Numbers: make([]float64, 12)}
	sex := datatest.Array{Name: "sex", Type: "<U2", Shape: []int{2}, Texts: []string{"m", "f"}}
	f.Add(x.NPY())
	f.Add(datatest.NPZ(f, false, x, sex))
	f.Add(datatest.NPZ(f, true, x, sex))
	for _, content := range damaged(f) {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		list, err := open(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return
		}
		for _, a := range list {
			rows := min(a.Rows(), 100)
			if a.columns > 1<<10 {
				continue
			}
			raw, err := a.bytes(nil, 0, rows)
			if err != nil {
				t.Fatalf("the size was checked: %v", err)
			}
			numbers := make([]float64, rows*a.columns)
			if !a.text() {
				require.NoError(t, readNumbers(a, numbers, 0, rows))
			}
			for i := range numbers {
				text := string(a.appendText(nil, raw[i*a.size:]))
				if a.kind == integers && text != fmt.Sprint(a.integer(raw[i*a.size:])) || slices.Contains([]kind{floats, naturals}, a.kind) && numbers[i] != numbers[i] && text != "" {
					t.Fatalf("%v is %q", numbers[i], text)
				}
			}
		}
	})
}
