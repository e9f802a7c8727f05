// Command bigtable writes a CSV file of rows with 50 numbers, a category and a label to the
// standard output, for trials of tables that are larger than the memory:
//
//	go run ./internal/bench/bigtable -rows 20000000 > big.csv
//
// The same number of rows and the same seed give the same bytes. A row takes about 330 bytes.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
)

// numbers is the number of columns of numbers.
const numbers = 50

func main() {
	rows := flag.Int("rows", 1_000_000, "the number of rows")
	seed := flag.Uint64("seed", 1, "the seed of the random numbers")
	flag.Parse()
	if err := write(os.Stdout, *rows, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "bigtable:", err)
		os.Exit(1)
	}
}

// write writes the columns x0 to x49, which are standard normal with three decimals, sex (f or m)
// and y. The label y is true if x0 + ... + x49, plus 4 for m, is above 2.
func write(to io.Writer, rows int, seed uint64) error {
	w := bufio.NewWriterSize(to, 1<<20)
	line := []byte{}
	for j := range numbers {
		line = fmt.Appendf(line, "x%d,", j)
	}
	if _, err := w.Write(append(line, "sex,y\n"...)); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	for range rows {
		line = line[:0]
		sum := 0.0
		for range numbers {
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
