package textvalue_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppal/internal/textvalue"
)

func TestDateNumber(t *testing.T) {
	at := time.Date(2024, 5, 13, 18, 45, 0, 0, time.UTC) // a Monday
	for part, want := range map[string]float64{"day": float64(at.Unix()) / 86400, "month": 5, "weekday": 1, "hour": 18.75} {
		if got, ok := textvalue.DateNumber("2024-05-13 18:45", "2006-01-02 15:04", part); !ok || got != want {
			t.Errorf("%s is %v, want %v", part, got, want)
		}
	}
	if got, _ := textvalue.DateNumber("1970-01-04", "2006-01-02", "weekday"); got != 7 {
		t.Errorf("a Sunday is %v", got)
	}
	if got, _ := textvalue.DateNumber("1969-12-31", "2006-01-02", "day"); got != -1 {
		t.Errorf("the day before 1970 is %v", got)
	}
}

func TestLocalNumber(t *testing.T) {
	no := math.NaN()
	for _, tc := range []struct {
		text         string
		comma, point float64
	}{
		{"1", 1, 1}, {"-1,5", -1.5, no}, {"1.5", no, 1.5}, {"1,234", 1.234, 1234}, {"1.234", 1234, 1.234}, {"0,125", 0.125, no},
		{"1.234,5", 1234.5, no}, {"1,234.5", no, 1234.5}, {"1.234.567", 1234567, no}, {"1,234,567", no, 1234567},
		{"1 234,5", 1234.5, no}, {"1\u00a0234", 1234, 1234}, {"1'234.5", no, 1234.5}, {"12 34", no, no}, {"1,2e3", 1200, no},
		{"1.5e3", no, 1500}, {"", no, no}, {",", no, no}, {"-", no, no}, {"1,2,3", no, no}, {"1..234", no, no}, {"a,5", no, no}, {"+2,5", 2.5, no},
		{"012,345", 12.345, no}, {",5", 0.5, no}, {"5,", 5, no}, {"1,234 567", no, no},
	} {
		for decimal, want := range map[string]float64{textvalue.CommaDecimals: tc.comma, textvalue.PointDecimals: tc.point} {
			got, ok := textvalue.LocalNumber([]byte(tc.text), decimal)
			if ok == math.IsNaN(want) || ok && got != want {
				t.Errorf("%q with %q: %v %v, want %v", tc.text, decimal, got, ok, want)
			}
		}
	}
}

// Numbers have the bits that strconv gives.
func TestNumberIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := []string{"9007199254740992", "9007199254740993", "9007199254740993.5", "0.0000000000000000001", "18446744073709551617", "1.", ".5", "-0", "+3.25",
		"0", "+1", "-.125", "0.1", "0.3", "123456.789012345", "99999999999999.9", "9999999999999999", "0.000000000000001", "1e5", "1E-5", "-1.5e+03", "4.35",
		"2.2250738585072014e-308", "5e-324", "0000000000000000000000001.5", "123456789012345678901234567890", "0.1234567890123456789"}
	for range 20000 {
		x := math.Float64frombits(rng.Uint64())
		texts = append(texts, strconv.FormatFloat(rng.NormFloat64(), 'g', -1, 64), strconv.FormatFloat(x, 'g', -1, 64),
			strconv.FormatFloat(rng.NormFloat64()*1e6, 'f', rng.IntN(16), 64), strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10)+"."+strconv.Itoa(rng.IntN(1000)))
	}
	for _, text := range texts {
		want, err := strconv.ParseFloat(text, 64)
		finite := err == nil && !math.IsNaN(want) && !math.IsInf(want, 0)
		if x, ok := textvalue.Number([]byte(text)); ok != finite || ok && math.Float64bits(x) != math.Float64bits(want) {
			t.Errorf("%s: %v, %v, want %v", text, x, ok, want)
		}
	}
	for _, text := range []string{"", "-", "+", ".", "-.", "e5", ".e5", "1e", "inf", "+inf", "-inf", "NaN", "x", "1.2.3", "--1", "1 ",
		"1_000", "1_0", "1_0.5", "1.0_5", "1e1_0", "-1_0", "0x1p4", "0X1P-2", "-0x1.8p1", "0x_1p4", "0b1", "0o7", "1e5_0", "123456789012345678901_0",
		"Infinity", "-Infinity", "+INF", "nan", "-nan", "1e999", "1f", "1d", "\u0661"} {
		if x, ok := textvalue.Number([]byte(text)); ok {
			t.Errorf("%q is %v", text, x)
		}
	}
}

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
