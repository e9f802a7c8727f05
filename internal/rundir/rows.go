package rundir

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"ppal/datasets"
)

// Membership lists the rows of each split.
type Membership struct {
	// Files are the files whose rows Rows numbers one after the other; with one file or none, the
	// file rows.csv has no column for it.
	Files []datasets.FileRows
	// Rows are the rows' numbers in the files, from 0, by split.
	Rows map[Split][]int
}

// compressAbove is the number of rows above which rows.csv is compressed.
const compressAbove = 100_000

// The names of the file of rows.
const (
	rowsName       = "rows.csv"
	rowsCompressed = rowsName + ".gz"
)

// WriteRows writes the split of every row, in the order of the source, as rows.csv, and returns the
// file's name. Its columns are row (the row's number in its file, from 1, without the header), file
// (with several files) and split (train, validation, test). With more than 100,000 rows the file is
// rows.csv.gz, which takes about a byte for each row.
func (d Dir) WriteRows(m Membership) (name string, err error) {
	total, last := 0, -1
	for _, rows := range m.Rows {
		total += len(rows)
		for _, i := range rows {
			last = max(last, i)
		}
	}
	splits := make([]Split, last+1)
	for split, rows := range m.Rows {
		for _, i := range rows {
			splits[i] = split
		}
	}
	var out bytes.Buffer
	var w io.Writer = &out
	var zip *gzip.Writer
	if name = rowsName; total > compressAbove {
		name, zip = rowsCompressed, gzip.NewWriter(&out)
		w = zip
	}
	buffered := bufio.NewWriter(w)
	if err := writeRows(buffered, m.Files, splits); err != nil {
		return "", fmt.Errorf("rundir: %s: %w", name, err)
	}
	if err := buffered.Flush(); err != nil {
		return "", fmt.Errorf("rundir: %s: %w", name, err)
	}
	if zip != nil {
		if err := zip.Close(); err != nil {
			return "", fmt.Errorf("rundir: %s: %w", name, err)
		}
	}
	return name, WriteFile(filepath.Join(string(d), name), out.Bytes())
}

// writeRows writes the lines. Rows without a split, such as rows that a filter dropped, are left
// out.
func writeRows(w io.Writer, files []datasets.FileRows, splits []Split) error {
	several := len(files) > 1
	header, names := "row,split\n", make([]string, len(files))
	if several {
		header = "row,file,split\n"
		for k, f := range files {
			var quoted bytes.Buffer
			c := csv.NewWriter(&quoted)
			if err := c.Write([]string{f.Name, ""}); err != nil {
				return err
			}
			c.Flush()
			names[k] = string(bytes.TrimSuffix(quoted.Bytes(), []byte("\n")))
		}
	}
	if _, err := io.WriteString(w, header); err != nil {
		return err
	}
	var line []byte
	file, first := 0, 0
	for i, split := range splits {
		for several && file+1 < len(files) && i >= first+files[file].Rows {
			first += files[file].Rows
			file++
		}
		if split == "" {
			continue
		}
		line = append(strconv.AppendInt(line[:0], int64(i-first+1), 10), ',')
		if several {
			line = append(line, names[file]...)
		}
		if _, err := w.Write(append(append(line, split...), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Row is a line of rows.csv.
type Row struct {
	Number int    // in its file, from 1
	File   string // "" with one file
	Split  Split
}

// ReadRows reads the file of the given name that WriteRows wrote.
func (d Dir) ReadRows(name string) ([]Row, error) {
	f, err := os.Open(filepath.Join(string(d), name))
	if err != nil {
		return nil, fmt.Errorf("rundir: %w", err)
	}
	defer f.Close()
	var in io.Reader = f
	if name == rowsCompressed {
		zip, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("rundir: %s: %w", f.Name(), err)
		}
		in = zip
	}
	r := csv.NewReader(in)
	r.ReuseRecord = true
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("rundir: %s: %w", f.Name(), err)
	}
	fields := len(header)
	var rows []Row
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("rundir: %s: %w", f.Name(), err)
		}
		row := Row{Split: Split(record[fields-1])}
		if row.Number, err = strconv.Atoi(record[0]); err != nil {
			return nil, fmt.Errorf("rundir: %s: %w", f.Name(), err)
		}
		if fields > 2 {
			row.File = record[1]
		}
		rows = append(rows, row)
	}
}
