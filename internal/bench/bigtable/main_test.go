package main

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"ppal/internal/require"
)

// A table has the columns that the comment of write names. Its label is the comment's condition, up
// to the rounding of the numbers to three decimals.
func TestWrite(t *testing.T) {
	const rows = 2000
	var b bytes.Buffer
	require.NoError(t, write(&b, rows, 1))
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != rows+1 || !strings.HasPrefix(lines[0], "x0,x1,") || !strings.HasSuffix(lines[0], ",x49,sex,y") {
		t.Fatalf("%d lines, the first is %s", len(lines), lines[0])
	}
	var mean, square float64
	males := 0
	for _, line := range lines[1:] {
		fields := strings.Split(line, ",")
		if len(fields) != numbers+2 {
			t.Fatalf("%d fields in %s", len(fields), line)
		}
		sum := 0.0
		for _, text := range fields[:numbers] {
			x, err := strconv.ParseFloat(text, 64)
			if _, decimals, _ := strings.Cut(text, "."); err != nil || len(decimals) != 3 {
				t.Fatalf("%s is not a number with three decimals", text)
			}
			sum += x
			mean, square = mean+x/(rows*numbers), square+x*x/(rows*numbers)
		}
		switch fields[numbers] {
		case "m":
			males++
			sum += 4
		case "f":
		default:
			t.Fatalf("sex is %s", fields[numbers])
		}
		if above := sum > 2; math.Abs(sum-2) > 0.0005*numbers && fields[numbers+1] != strconv.FormatBool(above) {
			t.Errorf("the sum is %v and y is %s", sum, fields[numbers+1])
		}
	}
	if math.Abs(mean) > 0.02 || math.Abs(square-1) > 0.03 || males < 900 || males > 1100 {
		t.Errorf("mean %v, variance %v, %d of %d rows are m", mean, square, males, rows)
	}
	if size := b.Len() / rows; size < 310 || size > 350 {
		t.Errorf("a row takes %d bytes, about 330 by the comment", size)
	}
}

// The seed determines the bytes, and fewer rows are the first rows.
func TestSeed(t *testing.T) {
	text := func(rows int, seed uint64) string {
		var b bytes.Buffer
		require.NoError(t, write(&b, rows, seed))
		return b.String()
	}
	first, second := text(50, 3), text(50, 3)
	if first != second || first == text(50, 4) || !strings.HasPrefix(first, text(10, 3)) {
		t.Error("the bytes do not follow from the seed")
	}
}

// failing is a full disk.
type failing struct{}

var errFull = errors.New("no space")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestFullDisk(t *testing.T) {
	for _, rows := range []int{0, 10, 10_000} {
		if err := write(failing{}, rows, 1); !errors.Is(err, errFull) {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
}
