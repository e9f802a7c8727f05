package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/inputfile"
	"ppal/internal/loader"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// TestEveryDateForm writes one day in each form, and checks the form that is found and the parts.
func TestEveryDateForm(t *testing.T) {
	at := time.Date(2023, 11, 25, 21, 7, 36, 0, time.UTC) // a Saturday; the day cannot be a month
	all := textvalue.FormSet(1<<len(textvalue.DateLayouts) - 1)
	for i, layout := range textvalue.DateLayouts {
		text := at.Format(layout)
		fit := textvalue.DatesAs(text, all)
		if fit&(1<<i) == 0 || textvalue.DatesAs(text, all&^(1<<i))&(1<<i) != 0 {
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
		parts := map[string]float64{textvalue.DatePart: float64(want.Unix()) / 86400, textvalue.MonthPart: 11}
		if day {
			parts[textvalue.WeekdayPart] = 6
		} else {
			parts[textvalue.DatePart] = float64(want.Unix()/86400 - 24)
		}
		if clock {
			parts[textvalue.HourPart] = float64(want.Hour()) + float64(want.Minute())/60 + float64(want.Second())/3600
		}
		if len(textvalue.DateParts(layout)) != len(parts) {
			t.Errorf("%s: parts %v, want %v", layout, textvalue.DateParts(layout), parts)
		}
		for part, x := range parts {
			if got, ok := textvalue.DateNumber(text, layout, part); !ok || math.Abs(got-x) > 1e-9 || textvalue.CheckDate(layout, part) != nil {
				t.Errorf("%s: %s is %v, want %v", text, part, got, x)
			}
		}
	}
	if _, ok := textvalue.DateNumber("2006-01-02", "2006-01-02", "year"); ok {
		t.Error("an unknown part has a number")
	}
	if textvalue.CheckDate("02", textvalue.DatePart) == nil || textvalue.CheckDate("2006-01", textvalue.WeekdayPart) == nil {
		t.Error("an unknown form or part is accepted")
	}
	for text, want := range map[string]bool{"24-1": false, "1/2/06": true, "January 2, 2006": true,
		"2024-05-13T10:30:00." + strings.Repeat("0", 19) + "Z": true, "2024-05-13T10:30:00." + strings.Repeat("0", 20) + "Z": false} {
		if got := textvalue.DatesAs(text, all) != 0; got != want {
			t.Errorf("%s is a date: %t", text, got)
		}
	}
	for _, test := range []struct {
		text, first, second string
	}{{"1/2/2006", "1/2/2006", "2/1/2006"}, {"13/2/2006", "2/1/2006", ""}, {"1-2-2006", "2-1-2006", "1-2-2006"}, {"2006-01-02", "2006-01-02", ""}} {
		if first, second, ok := textvalue.DatesAs(test.text, all).Ambiguous(); first != test.first || second != test.second || ok != (test.second != "") {
			t.Errorf("%s: %q, %q, %t", test.text, first, second, ok)
		}
	}
	for day, want := range map[int]float64{20: 1, 21: 2, 22: 3, 23: 4, 24: 5, 25: 6, 26: 7} { // Monday to Sunday
		if got, _ := textvalue.DateNumber(fmt.Sprintf("2023-11-%d", day), "2006-01-02", textvalue.WeekdayPart); got != want {
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
		"1:000": {no, no}, ",5": {0.5, no}, ".123": {no, 0.123}, ",123": {0.123, no}, "1 1.2": {no, no}, "a,5": {no, no}, "0 123,5": {no, no}, "a.5": {no, no}, "0 123.5": {no, no}, "1,e2": {100, no}, "5,": {5, no}, "9 999": {9999, 9999}, "99 099,99": {99099.99, no},
	} {
		for k, decimal := range []string{textvalue.CommaDecimals, textvalue.PointDecimals} {
			x, ok := textvalue.LocalNumber([]byte(text), decimal)
			if ok != !math.IsNaN(want[k]) || ok && x != want[k] {
				t.Errorf("%q with the decimal sign %s: %v, %t, want %v", text, decimal, x, ok, want[k])
			}
		}
	}
	for text, want := range map[string]bool{"": true, "09": true, "/": false, "1:": false, "a": false, "-1": false} {
		if got := textvalue.AllDigits([]byte(text)); got != want {
			t.Errorf("%q has only digits: %t", text, got)
		}
	}
	for text, want := range map[string]int{"0": 0, "9": 9, "19": 19, "2147483647": math.MaxInt32, "2147483648": -1, "": -1, "1/": -1, "1:": -1, "-1": -1} {
		if n, ok := textvalue.WholeNumber([]byte(text)); ok != (want >= 0) || ok && n != want {
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
		"a\x00\x00b": "", "ab\x00\x00": "", "\x00\x00ab": "", "\x00a\x00\x00": "UTF-16BE", "\x00\x00a\x00": "UTF-16LE", "abc\x00": "", "\x00abc": "", "abcd": ""} {
		for wrong, enough := range map[int]bool{0: true, 3: true, 4: false} { // 13 of 16 are more than three quarters
			if got := inputfile.WideWithoutMark(wide(order, wrong)); enough && got != want || !enough && got != "" {
				t.Errorf("%q, %d characters without zeros: %q, want %q", order, wrong, got, want)
			}
		}
	}
	if got := inputfile.WideWithoutMark([]byte("a\x00\x00")); got != "" {
		t.Errorf("3 bytes: %q", got)
	}
	if got := inputfile.WideWithoutMark([]byte("a\x00\x00\x00b\x00\x00")); got != "UTF-32LE" {
		t.Errorf("7 bytes: %q", got)
	}
	if got := inputfile.WideWithoutMark(append(wide("a\x00\x00\x00", 0), strings.Repeat("x", 640)...)); got != "UTF-32LE" {
		t.Errorf("704 bytes, of which the first 64 count: %q", got)
	}
	for text, want := range map[string]string{"a\x80": "WINDOWS-1252", "a\x9f": "WINDOWS-1252", "a\xa0": "ISO-8859-1", "a\xe9": "ISO-8859-1"} {
		if advice, err := inputfile.CheckUTF8(text, "file"); err == nil || !strings.Contains(advice, "iconv -f "+want) {
			t.Errorf("%q: %s, %v, want %s", text, advice, err, want)
		}
	}
	if _, err := inputfile.CheckUTF8("é", "file"); err != nil {
		t.Error(err)
	}
}

// TestSniffedSeparators checks the separator that is found, also if the examined text ends within a
// record.
func TestSniffedSeparators(t *testing.T) {
	fill := func(line, end string) string {
		n := (recordio.SniffBytes - len(end)) / len(line)
		return strings.Repeat("x", recordio.SniffBytes-len(end)-n*len(line)) + strings.Repeat(line, n) + end
	}
	pad := strings.Repeat("x", 3000) // fewer than 50 records fill the examined text
	for cut, want := range map[string]rune{"1;2": ',', "1;\"2": ','} {
		if got := recordio.SniffSeparator([]byte(fill(pad+";2,3,4\n", cut)), tabular.Layout{}); got != want {
			t.Errorf("the end is cut: %q, want %q", got, want)
		}
	}
	if got := recordio.SniffSeparator([]byte(fill(pad+";2,3,4\n"+pad+";2\n", "1;\"2")), tabular.Layout{}); got != ';' {
		t.Errorf("the end is cut, and the commas are not regular: %q", got)
	}
	for _, separator := range "\"\n\r\ufffd" {
		if _, err := recordio.NewDelimited(strings.NewReader("a,b\n1,2\n"), "file", tabular.Layout{Separator: string(separator)}); !errors.Is(err, dataerr.ErrFormat) || !strings.Contains(err.Error(), "the separator cannot be") {
			t.Errorf("the separator %q: %v", separator, err)
		}
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
		"a wrong quote":      {"a;b;c,d\n\"1;2\",3\n", ','},
		"an open quote":      {fill("1;2;3,4\n", "1;\"2"), ';'},
		"an early wrong one": {"a;b,c\n1,2\n3,4\n", ','},
		"record 51 is other": {strings.Repeat("1;2\n", 50) + "1,2\n", ';'},
		"record 50 is other": {strings.Repeat("1;2,3,4\n", 49) + "1;2\n", ';'},
	} {
		if got := recordio.SniffSeparator([]byte(test.head), tabular.Layout{}); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	names := recordio.ColumnNames([][]byte{[]byte("column 2"), nil, []byte("a"), nil})
	if diff := cmp.Diff([]string{"column 2", "column 2'", "a", "column 4"}, names); diff != "" {
		t.Error(diff)
	}
	_, err := recordio.NewDelimited(strings.NewReader(recordio.ByteOrderMark+" \n"), "file", tabular.Layout{})
	datatest.CheckError(t, err, dataerr.ErrTruncated, "the file is empty")
}

// TestTrimmedFields compares trimmed with bytes.TrimSpace, on all texts of up to three characters
// of a few.
func TestTrimmedFields(t *testing.T) {
	texts := []string{""}
	for range 3 {
		for _, text := range texts {
			for _, c := range []string{"a", " ", "\t", "\r", "\x00", "!", "\u00e9", "\u0085", "\u00a0", "\u2000", "\x80", "\x7f"} {
				texts = append(texts, text+c)
			}
		}
	}
	for _, text := range texts {
		if got, want := recordio.Trimmed([]byte(text)), bytes.TrimSpace([]byte(text)); !bytes.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestFieldsAtTheEnd reads quoted fields at the end of a text without a line end.
func TestFieldsAtTheEnd(t *testing.T) {
	for text, want := range map[string][]string{
		`"1","2"`: {"1", "2"}, `"1",`: {"1", ""}, "1,\"2\"\r": {"1", "2"}, "\"a\r\"\"b\",2": {"a\r\"b", "2"}, "\"a\nb\r\nc\",\"d\"\r\n": {"a\nb\nc", "d"},
	} {
		got, err := allRecords("a,b\n"+text, ',', nil)
		if err != nil || len(got) != 2 || !slices.Equal(got[1], want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestProfilesByHand checks the numbers of a profile, and how they decide the decimal sign.
func TestProfilesByHand(t *testing.T) {
	absent, records := columnar.NewTextSet(loader.AbsentTexts), recordio.NewFieldReader("file", ',', 1)
	fill := func(p *columnar.Profile, texts ...string) *columnar.Profile {
		for i, text := range texts {
			records.Fields, records.Record = append(records.Fields[:0], []byte(text)), i+2
			p.Add(records, 0, absent)
		}
		return p
	}
	all := textvalue.FormSet(1<<len(textvalue.DateLayouts) - 1)
	for _, test := range []struct {
		texts               []string
		plain, dotted       int
		pointGroups, absent int
		local               int
		numbers             bool // 0, 1, 2 ... or 1, 2, 3 ...
		dates               bool
		file                string // the sign of the other columns
		decimal             string
		ok, doubt           bool
	}{
		{texts: nil, dates: true, ok: true},
		{texts: []string{"0", "1", "2"}, plain: 3, numbers: true, ok: true},
		{texts: []string{"1", "2", "3"}, plain: 3, numbers: true, ok: true},
		{texts: []string{"2", "3"}, plain: 2, ok: true},
		{texts: []string{"1", "NA", "2"}, plain: 2, absent: 1, ok: true},
		{texts: []string{"1", "3"}, plain: 2, ok: true},
		{texts: []string{".5"}, plain: 1, dotted: 1, ok: true},
		{texts: []string{"1.234", "2.345"}, plain: 2, pointGroups: 2, ok: true},
		{texts: []string{"1.234", "2.345"}, plain: 2, pointGroups: 2, file: textvalue.CommaDecimals, ok: true, doubt: true},
		{texts: []string{"1.234", "2.5"}, plain: 2, pointGroups: 1, dotted: 1, file: textvalue.CommaDecimals, ok: true},
		{texts: []string{"1,5", "2"}, plain: 1, local: 1, decimal: textvalue.CommaDecimals, ok: true},
		{texts: []string{"1,234.5", "2"}, plain: 1, local: 1, decimal: textvalue.PointDecimals, ok: true},
		{texts: []string{"1,234", "2.5"}, plain: 1, dotted: 1, local: 1, decimal: textvalue.PointDecimals, ok: true},
		{texts: []string{"1,234", "2"}, plain: 1, local: 1, ok: true, doubt: true},
		{texts: []string{"1,234", "2"}, plain: 1, local: 1, file: textvalue.CommaDecimals, decimal: textvalue.CommaDecimals, ok: true},
		{texts: []string{"1 234", "1 234"}, local: 2, decimal: textvalue.PointDecimals, ok: true},
		{texts: []string{"1 234", "1.234"}, plain: 1, pointGroups: 1, local: 1, ok: true, doubt: true},
		{texts: []string{"1,5", "2.5"}, plain: 1, dotted: 1, local: 1},
		{texts: []string{"1,5", "1,234.5"}, local: 2},
		{texts: []string{"1,5", "a"}, local: 1},
		{texts: []string{"2024-05-13", "2024-05-14"}, dates: true},
		{texts: []string{"2024-05-13", "2024"}, plain: 1},
		{texts: []string{"2024", "2024-05-13"}, plain: 1},
	} {
		p := fill(columnar.NewProfile(false), test.texts...)
		if p.Rows != len(test.texts) || p.Plain != test.plain || p.Dotted != test.dotted || p.PointGroups != test.pointGroups || p.Missing != test.absent ||
			p.Local() != test.local || p.NumbersRows() != test.numbers || (p.Forms != 0) != test.dates {
			t.Errorf("%q: %+v", test.texts, p)
		}
		if decimal, ok, doubt := p.Decimal(test.file, false); decimal != test.decimal || ok != test.ok || doubt != test.doubt {
			t.Errorf("%q in a file with %q: %q, %t, doubt %t", test.texts, test.file, decimal, ok, doubt)
		}
		again := fill(columnar.NewProfile(false), "x", "1", "NA", "2020-01-02")
		again.Reset()
		if diff := cmp.Diff(p, fill(again, test.texts...), cmp.AllowUnexported(columnar.Profile{}, columnar.Distinct{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q after other texts: %s", test.texts, diff)
		}
	}
	for text, want := range map[string]columnar.TextKind{"0,0": columnar.CommaText, "1,234.5": columnar.PointText, "1,234": columnar.EitherText, "1 234": columnar.GroupedText, "inf": columnar.InfiniteText,
		"1e999": columnar.InfiniteText, "x": columnar.OtherText} {
		if got := columnar.TextKindOf([]byte(text)); got != want {
			t.Errorf("%q is of the kind %d, want %d", text, got, want)
		}
	}
	for _, test := range []struct {
		categories   bool
		texts        []string
		comma, point bool
	}{
		{texts: []string{"1,5"}, comma: true}, {texts: []string{"1,5", "x"}}, {texts: []string{"1,5", "1,234.5"}}, {texts: []string{"1,5", "2.5"}},
		{texts: []string{"2.5"}, point: true}, {texts: []string{"1,234.5"}, point: true}, {texts: []string{"2.5", "x"}}, {texts: []string{"1,234.5", "x"}},
		{texts: []string{"1", "1,234"}}, {categories: true, texts: []string{"1,5"}},
	} {
		p := fill(columnar.NewProfile(test.categories), test.texts...)
		if p.UsesComma() != test.comma || p.UsesPoint() != test.point || test.categories && p.Numeric() {
			t.Errorf("%q: comma %t, point %t, numeric %t", test.texts, p.UsesComma(), p.UsesPoint(), p.Numeric())
		}
	}
	late := fill(columnar.NewProfile(false), "1", "2")
	if late.Join(fill(columnar.NewProfile(false), "3", "5")); late.NumbersRows() {
		t.Error("1, 2, 3, 5 number the rows")
	}
	if p := columnar.NewProfile(false); p.Forms&all != all {
		t.Errorf("forms %b at the beginning", p.Forms)
	}
}
