package datasets

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
)

// TestEveryDateForm writes one day in each form, and checks the form that is found and the parts.
func TestEveryDateForm(t *testing.T) {
	at := time.Date(2023, 11, 25, 21, 7, 36, 0, time.UTC) // a Saturday; the day cannot be a month
	all := formSet(1<<len(dateLayouts) - 1)
	for i, layout := range dateLayouts {
		text := at.Format(layout)
		fit := datesAs(text, all)
		if fit&(1<<i) == 0 || datesAs(text, all&^(1<<i))&(1<<i) != 0 {
			t.Errorf("%s: the forms %b do not hold form %d", text, fit, i)
		}
		want := at
		if !strings.Contains(layout, "05") {
			want = want.Truncate(time.Minute)
		}
		clock := strings.Contains(layout, "04")
		if !clock {
			want = want.Truncate(24 * time.Hour)
		}
		day := strings.Contains(strings.ReplaceAll(layout, "2006", ""), "2") // also 02 and _2
		parts := map[string]float64{datePart: float64(want.Unix()) / 86400, monthPart: 11}
		if day {
			parts[weekdayPart] = 6
		} else {
			parts[datePart] = float64(want.Unix()/86400 - 24)
		}
		if clock {
			parts[hourPart] = float64(want.Hour()) + float64(want.Minute())/60 + float64(want.Second())/3600
		}
		if len(dateParts(layout)) != len(parts) {
			t.Errorf("%s: parts %v, want %v", layout, dateParts(layout), parts)
		}
		for part, x := range parts {
			if got, ok := dateNumber(text, layout, part); !ok || math.Abs(got-x) > 1e-9 || checkDate(layout, part) != nil {
				t.Errorf("%s: %s is %v, want %v", text, part, got, x)
			}
		}
	}
	if checkDate("02", datePart) == nil || checkDate("2006-01", weekdayPart) == nil {
		t.Error("an unknown form or part is accepted")
	}
	for text, want := range map[string]bool{"24-1": false, "1/2/06": true, "January 2, 2006": true,
		"2024-05-13T10:30:00." + strings.Repeat("0", 19) + "Z": true, "2024-05-13T10:30:00." + strings.Repeat("0", 20) + "Z": false} {
		if got := datesAs(text, all) != 0; got != want {
			t.Errorf("%s is a date: %t", text, got)
		}
	}
	for _, test := range []struct {
		text, first, second string
	}{{"1/2/2006", "1/2/2006", "2/1/2006"}, {"13/2/2006", "2/1/2006", ""}, {"1-2-2006", "2-1-2006", "1-2-2006"}, {"2006-01-02", "2006-01-02", ""}} {
		if first, second, ok := datesAs(test.text, all).ambiguous(); first != test.first || second != test.second || ok != (test.second != "") {
			t.Errorf("%s: %q, %q, %t", test.text, first, second, ok)
		}
	}
	for day, want := range map[int]float64{20: 1, 21: 2, 22: 3, 23: 4, 24: 5, 25: 6, 26: 7} { // Monday to Sunday
		if got, _ := dateNumber(fmt.Sprintf("2023-11-%d", day), "2006-01-02", weekdayPart); got != want {
			t.Errorf("%d November 2023 is day %v of the week, want %v", day, got, want)
		}
	}
}

// TestLocalNumbers reads numbers with separators of thousands.
func TestLocalNumbers(t *testing.T) {
	no := math.NaN()
	for text, want := range map[string][2]float64{ // with a decimal comma, and with a decimal point
		"1,5": {1.5, no}, "1.5": {no, 1.5}, "1.234,5": {1234.5, no}, "1,234.5": {no, 1234.5}, "1,234": {1.234, 1234}, "1.234": {1234, 1.234},
		"1 234": {1234, 1234}, "12'345'678": {12345678, 12345678}, "1 234.567": {no, 1234.567}, "1.234.567": {1234567, no}, "1234,5": {1234.5, no},
		"12 34": {no, no}, "1234 567": {no, no}, "0 123": {no, no}, "012 345": {no, no}, " 123": {no, no}, "1 2345": {no, no}, "1.234 567": {no, no},
		"-1.234,5e2": {-123450, no}, "+1,5": {1.5, no}, "1 234e1": {12340, 12340}, "1,5E-1": {0.15, no}, "1,2 3": {no, no}, "1_000": {no, no}, "": {no, no},
		"\u00a01": {no, no}, "1\u00a0000": {1000, 1000}, "1\u202f000": {1000, 1000}, "1\u2019000": {1000, 1000}, "123 456": {123456, 123456}, "1/000": {no, no},
		"1:000": {no, no}, ",5": {0.5, no}, "5,": {5, no}, "9 999": {9999, 9999}, "99 099,99": {99099.99, no},
	} {
		for k, decimal := range []string{commaDecimals, pointDecimals} {
			x, ok := localNumber([]byte(text), decimal)
			if ok != !math.IsNaN(want[k]) || ok && x != want[k] {
				t.Errorf("%q with the decimal sign %s: %v, %t, want %v", text, decimal, x, ok, want[k])
			}
		}
	}
	for text, want := range map[string]int{"0": 0, "9": 9, "19": 19, "2147483647": math.MaxInt32, "2147483648": -1, "": -1, "1/": -1, "1:": -1, "-1": -1} {
		if n, ok := wholeNumber([]byte(text)); ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d, %t, want %d", text, n, ok, want)
		}
	}
}

// TestWideTexts checks the guess of an encoding without a mark, at the least share of zeros.
func TestWideTexts(t *testing.T) {
	wide := func(order string, wrong int) []byte { // 16 characters of 4 bytes; the first wrong ones have no zeros
		text := bytes.Repeat([]byte(order), 16)
		for i := range 4 * wrong {
			text[i] = 'x'
		}
		return text
	}
	for order, want := range map[string]string{"a\x00\x00\x00": "UTF-32LE", "\x00\x00\x00a": "UTF-32BE", "a\x00b\x00": "UTF-16LE", "\x00a\x00b": "UTF-16BE",
		"a\x00\x00b": "", "\x00abc": "", "abcd": ""} {
		for wrong, enough := range map[int]bool{0: true, 3: true, 4: false} { // 13 of 16 are more than three quarters
			if got := wideWithoutMark(wide(order, wrong)); enough && got != want || !enough && got != "" {
				t.Errorf("%q, %d characters without zeros: %q, want %q", order, wrong, got, want)
			}
		}
	}
	if got := wideWithoutMark([]byte("a\x00\x00")); got != "" {
		t.Errorf("3 bytes: %q", got)
	}
	if got := wideWithoutMark([]byte("a\x00\x00\x00b\x00\x00")); got != "UTF-32LE" {
		t.Errorf("7 bytes: %q", got)
	}
	for text, want := range map[string]string{"a\x80": "WINDOWS-1252", "a\x9f": "WINDOWS-1252", "a\xa0": "ISO-8859-1", "a\xe9": "ISO-8859-1"} {
		if advice, err := checkUTF8(text, "file"); err == nil || !strings.Contains(advice, "iconv -f "+want) {
			t.Errorf("%q: %s, %v, want %s", text, advice, err, want)
		}
	}
	if _, err := checkUTF8("é", "file"); err != nil {
		t.Error(err)
	}
}

// TestIDXSizes checks the limits of the numbers in a header.
func TestIDXSizes(t *testing.T) {
	for _, test := range []struct {
		dims   []uint32
		offset int64 // of the refused number; 0: the number is accepted, and the values are missing
	}{
		{[]uint32{1<<31 - 1, 1, 1}, 0}, {[]uint32{1 << 31, 1, 1}, 4}, {[]uint32{1, 1 << 31, 1}, 8}, {[]uint32{1 << 30, 1 << 30, 4}, 0}, {[]uint32{1 << 30, 1 << 30, 5}, 12},
	} {
		_, _, err := readIDX(bytes.NewReader(idx(nil, test.dims...)), "file", "pixels", 3)
		var at *FileError
		if !errors.As(err, &at) || test.offset > 0 && (at.Offset != test.offset || !errors.Is(err, ErrFormat)) || test.offset == 0 && !errors.Is(err, ErrTruncated) {
			t.Errorf("%v: %v", test.dims, err)
		}
	}
	for _, n := range []uint32{maxLabels, maxLabels + 1} {
		if _, _, err := readIDX(bytes.NewReader(idx(nil, n)), "file", "labels", 1); errors.Is(err, ErrFormat) != (n > maxLabels) {
			t.Errorf("%d labels: %v", n, err)
		}
	}
	dims, data, err := readIDX(bytes.NewReader(idx([]byte{1, 2, 3, 4, 5, 6}, 3, 1, 2)), "file", "pixels", 3)
	if err != nil || !slices.Equal(dims, []int{3, 1, 2}) || !bytes.Equal(data, []byte{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%v, %v, %v", dims, data, err)
	}
	for at, labels := range map[int64][]byte{-1: {0, 9}, 8 + 2*3: {0, 1, 10}} {
		err := checkLabels(labels, 10, "file", 8, 3)
		var file *FileError
		if errors.As(err, &file) != (at >= 0) || at >= 0 && (file.Offset != at || !strings.Contains(err.Error(), "row 2 has label 10, classes are 0 to 9")) {
			t.Errorf("labels %v: %v", labels, err)
		}
	}
}

// TestCIFARSizes checks the sizes of a batch.
func TestCIFARSizes(t *testing.T) {
	for size, want := range map[int64]int64{ // -1: accepted
		-1: 0, 0: 0, 1: 0, cifarRecord - 1: 0, cifarRecord: -1, cifarRecord + 1: cifarRecord, 2*cifarRecord + 1: 2 * cifarRecord,
		cifarRows * cifarRecord: -1, (cifarRows + 1) * cifarRecord: cifarRows * cifarRecord,
	} {
		var at *FileError
		if err := checkCIFARSize(size, "file"); errors.As(err, &at) != (want >= 0) || want >= 0 && at.Offset != want {
			t.Errorf("%d bytes: %v, want an error at %d", size, err, want)
		}
	}
}

// TestReadExactly reads contents around the sizes of the buffer, and checks the position of errors.
func TestReadExactly(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefg"), readChunk/2)
	for _, want := range []int{0, 1, readChunk - 1, readChunk, readChunk + 1, 2 * readChunk, 2*readChunk + 1, len(text)} {
		c, err := newContent(bytes.NewReader(text), "file")
		if err != nil {
			t.Fatal(err)
		}
		data, err := c.readExactly(uint64(want), "text")
		if err != nil || !bytes.Equal(data, text[:want]) || c.offset != int64(want) {
			t.Errorf("%d bytes: %d, at %d, %v", want, len(data), c.offset, err)
		}
		err = c.expectEnd()
		var at *FileError
		if want == len(text) && err != nil || want < len(text) && (!errors.As(err, &at) || at.Offset != int64(want) || !errors.Is(err, ErrTrailing)) {
			t.Errorf("the end after %d bytes: %v", want, err)
		}
	}
	c, _ := newContent(bytes.NewReader(text), "file")
	_, err := c.readExactly(uint64(len(text))+1, "text")
	checkError(t, err, ErrTruncated, fmt.Sprintf("byte %d: truncated: %d of %d bytes of text", len(text), len(text), len(text)+1))
	for size, want := range map[int]error{9: ErrTrailing, 10: nil, 11: ErrTruncated} {
		c, _ := newContent(strings.NewReader("0123456789"), "file")
		var read bytes.Buffer
		_, err := read.ReadFrom(&whole{content: c, what: "text", want: uint64(size)})
		if !errors.Is(err, want) || read.String() != "0123456789"[:min(size, 10)] {
			t.Errorf("%d of 10 bytes: %q, %v", size, &read, err)
		}
	}
	c, _ = newContent(strings.NewReader(""), "file")
	c.r = &once{[]string{"0123456789", ""}, errBroken}
	if _, err := io.Copy(io.Discard, &whole{content: c, what: "text", want: 10}); !errors.Is(err, errBroken) {
		t.Errorf("an error with the last byte: %v", err)
	}
	if _, err := newContent(io.MultiReader(strings.NewReader("\x1f"), broken{}), "file"); !errors.Is(err, errBroken) {
		t.Errorf("an error in the first two bytes: %v", err)
	}
}

var errBroken = errors.New("broken")

// broken is a reader that fails.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// stored is a row store that notes the calls.
type stored []string

func (s *stored) SetRows(i int, rows [][]uint8) { *s = append(*s, fmt.Sprint(i, rows)) }

// TestJoinedStores passes rows to two stores, before, at and after the border.
func TestJoinedStores(t *testing.T) {
	rows := [][]uint8{{1}, {2}, {3}}
	for _, test := range []struct {
		at            int
		first, second stored
	}{
		{0, stored{"0 [[1] [2] [3]]"}, nil}, {2, stored{"2 [[1] [2] [3]]"}, nil}, {3, stored{"3 [[1] [2]]"}, stored{"0 [[3]]"}},
		{4, stored{"4 [[1]]"}, stored{"0 [[2] [3]]"}}, {5, nil, stored{"0 [[1] [2] [3]]"}}, {7, nil, stored{"2 [[1] [2] [3]]"}},
	} {
		var first, second stored
		joined{&first, &second, 5}.SetRows(test.at, rows)
		if diff := cmp.Diff(test.first, first) + cmp.Diff(test.second, second); diff != "" {
			t.Errorf("rows at %d: %s", test.at, diff)
		}
	}
}

// TestDivideByHand divides 4 and 2 chosen rows, and checks the places of the rows in both parts.
func TestDivideByHand(t *testing.T) {
	set := &Pictures{Labels: []byte{1, 0, 1, 2, 1, 0, 1}, Classes: []string{"a", "b", "c"}}
	c, err := set.Choose([]int{1, 0}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(8) {
		checkDivided(t, set, c, seed)
	}
	if _, err := c.Divide(Split{Train: 90, Validation: 10}, 3); !errors.Is(err, ErrSplit) || !strings.Contains(err.Error(), "the class") {
		t.Errorf("a class without validation rows: %v", err)
	}
	if d, err := c.Divide(Split{Train: 100}, 3); err != nil || d.Train.Rows() != 6 || d.Validation.Rows() != 0 {
		t.Errorf("no validation rows: %v", err)
	}
}

func checkDivided(t *testing.T, set *Pictures, c *Choice, seed uint64) {
	t.Helper()
	d, err := c.Divide(Split{Train: 50, Validation: 50}, seed)
	if err != nil {
		t.Fatal(err)
	}
	for part, s := range map[string]Selection{"training": d.Train, "validation": d.Validation} {
		if !slices.Equal(s.Offsets, []int{0, 2, 3}) || s.Rows() != 3 || !slices.Equal(s.Labels(), []int{0, 0, 1}) || !slices.Equal(s.Names, []string{"b", "a"}) {
			t.Errorf("%s: offsets %v, labels %v of %v", part, s.Offsets, s.Labels(), s.Names)
		}
		for i, row := range s.Source {
			if set.Labels[row] != []byte{1, 1, 0}[i] {
				t.Errorf("%s: row %d of the set at %d", part, row, i)
			}
		}
	}
	all := slices.Concat(d.Train.Source, d.Validation.Source)
	for at, row := range all {
		if d.places[row] != at {
			t.Errorf("row %d of the set is at %d, want %d", row, d.places[row], at)
		}
	}
	if d.places[3] >= 0 || len(d.places) != 7 || !slices.Equal(slices.Sorted(slices.Values(all)), []int{0, 1, 2, 4, 5, 6}) {
		t.Errorf("places %v of the rows %v", d.places, all)
	}
}

// TestIntegersByHand checks the bytes of integers with a spread of 255, 127 and 0, and the first
// feature of two encodings that are no numbers.
func TestIntegersByHand(t *testing.T) {
	two := &Preparation{Encodings: []Encoding{
		{Column: "c", Categories: []string{"x", "y"}}, {Column: "n", Center: 2, Scale: 4, Missing: true}, {Column: "m", Center: 1, Scale: 0.5}}}
	center, deviation := two.affine(5)
	if diff := cmp.Diff([]float64{0, 0, 2, 0, 1}, center) + cmp.Diff([]float64{1, 1, 4, 1, 0.5}, deviation); diff != "" {
		t.Error(diff)
	}
	d := &matrix.Dense{Rows: 2, Cols: 4, Data: []float64{0, 10, 5, -3, 255, 137, 5, 124}}
	list := (&Tables{Train: &Table{Features: d, Labels: []int{1, -1}}}).Integers()
	if list == nil {
		t.Fatal("no bytes")
	}
	if diff := cmp.Diff([]uint8{0, 0, 0, 0, 255, 254, 0, 254}, list[0].Values.Data) + cmp.Diff([]float64{1, 2, 255, 2}, list[0].Stretch) +
		cmp.Diff([]float64{0, 10, 5, -3}, list[0].First); diff != "" {
		t.Error(diff)
	}
	for entries, dense := range map[int]bool{1: false, 2: true} { // of 8 elements
		x := &matrix.CSR{Rows: 2, Cols: 4, Starts: []int{0, 1, entries}, Columns: []int32{1, 3}[:entries]}
		if got := (&Tables{Train: &Table{Features: x, Labels: []int{1, -1}}}).Integers() != nil; got != dense {
			t.Errorf("%d entries of 8 elements: bytes %t", entries, got)
		}
	}
}

// TestSniffedSeparators checks the separator that is found, also if the examined text ends within a
// record.
func TestSniffedSeparators(t *testing.T) {
	fill := func(line, end string) string {
		n := (sniffBytes - len(end)) / len(line)
		return strings.Repeat("x", sniffBytes-len(end)-n*len(line)) + strings.Repeat(line, n) + end
	}
	for name, test := range map[string]struct {
		head string
		want rune
	}{
		"more fields":        {"a,b,c;d\n1,2,3;4\n", ','},
		"regular":            {"a;b,c,d\n1;2\n3;4,5\n", ';'},
		"none is regular":    {"a;b,c,d\n1\n2;3;4,5\n", ','},
		"one column":         {"a\n1\n", ','},
		"tabs":               {"a\tb\n1\t2\n", '\t'},
		"the end is cut":     {fill("1;2,3,4\n", "1;2"), ','},
		"one long record":    {fill("a;", "b,c"), ';'},
		"an early wrong one": {"a;b,c\n1,2\n3,4\n", ','},
		"record 51 is other": {strings.Repeat("1;2\n", 50) + "1,2\n", ';'},
		"record 50 is other": {strings.Repeat("1;2,3,4\n", 49) + "1;2\n", ';'},
	} {
		if got := sniffSeparator([]byte(test.head)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	names := columnNames([][]byte{[]byte("column 2"), nil, []byte("a"), nil})
	if diff := cmp.Diff([]string{"column 2", "column 2'", "a", "column 4"}, names); diff != "" {
		t.Error(diff)
	}
	_, _, err := openText(strings.NewReader(byteOrderMark+" \n"), "file", 0)
	checkError(t, err, ErrTruncated, "the file is empty")
}

// TestOneAttempt downloads a file that is shorter than the least progress, with a single attempt.
func TestOneAttempt(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("abc")) })
	sum := sha256.Sum256([]byte("abc"))
	file := File{Path: "a/b", Size: 3, SHA256: hex.EncodeToString(sum[:]), URLs: []string{s.URL}}
	opts := quick()
	opts.Attempts = 1
	dir := t.TempDir()
	if err := fetchFiles(context.Background(), dir, []File{file}, opts); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a", "b")); string(data) != "abc" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestArchiveSkipsFolders checks that a folder with the name of a batch is no batch.
func TestArchiveSkipsFolders(t *testing.T) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	_ = w.WriteHeader(&tar.Header{Name: "other/data_batch_1.bin/", Typeflag: tar.TypeDir, Mode: 0o755})
	for name, data := range cifarFiles() {
		_ = w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o644})
		_, _ = w.Write(data)
	}
	_ = w.Close()
	if batches, err := readCIFARArchive(&buf, "file", cifar10()); err != nil || len(batches) != 6 || len(batches[5].labels) != 2 {
		t.Errorf("%d batches, %v", len(batches), err)
	}
}
