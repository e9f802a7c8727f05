package bench

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"ppal/internal/require"
)

// The table that TestBigTable writes, for trials of tables that are larger than the memory.
var (
	bigTable = flag.String("table", "", "the CSV file that TestBigTable writes")
	bigRows  = flag.Int("rows", 1_000_000, "the number of its rows")
)

// bigNumbers is the number of columns of numbers.
const bigNumbers = 50

// writeBigTable writes the columns x0 to x49, which are standard normal with three decimals, sex (f
// or m) and y. The label y is true if x0 + ... + x49, plus 4 for m, is above 2. The same number of
// rows gives the same bytes. A row takes about 330 bytes.
func writeBigTable(to io.Writer, rows int) error {
	w := bufio.NewWriterSize(to, 1<<20)
	line := []byte{}
	for j := range bigNumbers {
		line = fmt.Appendf(line, "x%d,", j)
	}
	if _, err := w.Write(append(line, "sex,y\n"...)); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range rows {
		line = line[:0]
		sum := 0.0
		for range bigNumbers {
			x := rng.NormFloat64()
			sum += x
			line = append(strconv.AppendFloat(line, x, 'f', 3, 64), ',')
		}
		sex := rng.IntN(2)
		line = append(line, "fm"[sex], ',')
		line = strconv.AppendBool(line, sum+4*float64(sex) > 2)
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return w.Flush()
}

// TestBigTable writes the table to the file of the flag -table. Without the flag, it compares a
// small table with the comment of writeBigTable, up to the rounding of the numbers.
func TestBigTable(t *testing.T) {
	if *bigTable != "" {
		file := require.Value(os.Create(*bigTable))(t)
		require.NoError(t, writeBigTable(file, *bigRows))
		require.NoError(t, file.Close())
		return
	}
	var b bytes.Buffer
	require.NoError(t, writeBigTable(&b, 2000))
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 2001 || !strings.HasSuffix(lines[0], ",x49,sex,y") || b.Len() < 310*2000 || b.Len() > 350*2000 {
		t.Fatalf("%d lines with %d bytes, the first is %s", len(lines), b.Len(), lines[0])
	}
	for _, line := range lines[1:] {
		fields := strings.Split(line, ",")
		sum := 4 * float64(strings.Count(fields[bigNumbers], "m"))
		for _, text := range fields[:bigNumbers] {
			sum += require.Value(strconv.ParseFloat(text, 64))(t)
		}
		if math.Abs(sum-2) > 0.0005*bigNumbers && fields[bigNumbers+1] != strconv.FormatBool(sum > 2) {
			t.Errorf("the sum is %v: %s", sum, line)
		}
	}
}
