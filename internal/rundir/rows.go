package rundir

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ppal/internal/disk"
	"ppal/trainer/session/results"
)

// compressAbove is the number of rows above which rows.csv is compressed.
const compressAbove = 50_000

// The names of the file of rows.
const (
	rowsName       = "rows.csv"
	rowsCompressed = rowsName + ".gz"
)

// RowsName returns the name of the file of rows: rows.csv, or rows.csv.gz for many rows.
func RowsName(list []results.Members) string {
	total := 0
	for _, m := range list {
		total += len(m.Rows)
	}
	if total > compressAbove {
		return rowsCompressed
	}
	return rowsName
}

// WriteRows writes the split of every row, in the order of the source, as rows.csv, and returns the
// file's name. Its columns are row (the row's number in its file, from 1, without the header), file
// (with several files) and split (train, validation, test). With more than 50,000 rows the file is
// rows.csv.gz, which takes about three bytes for each row.
func (d Dir) WriteRows(list []results.Members) (name string, err error) {
	name = RowsName(list)
	out, err := disk.Create(filepath.Join(string(d), name), 0o644)
	if err == nil {
		defer func() { _ = out.Discard() }()
		err = writeAll(out, list, name == rowsCompressed)
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return "", fmt.Errorf("rundir: %s: %w", name, err)
	}
	return name, nil
}

// writeAll writes the lines, compressed or not.
func writeAll(to io.Writer, list []results.Members, compressed bool) error {
	if !compressed {
		w := bufio.NewWriter(to)
		if err := writeRows(w, list); err != nil {
			return err
		}
		return w.Flush()
	}
	file := bufio.NewWriter(to)
	zip := gzip.NewWriter(file)
	w := bufio.NewWriter(zip)
	if err := writeRows(w, list); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return file.Flush()
}

// writeRows writes the lines, file by file in the order of the list. Rows without a split, such as
// rows that a filter dropped, are left out.
func writeRows(w *bufio.Writer, list []results.Members) error {
	members := map[string][]results.Members{} // of each file, with increasing rows
	var files []string
	for _, m := range list {
		if members[m.File] == nil {
			files = append(files, m.File)
		}
		if !slices.IsSorted(m.Rows) {
			m.Rows = slices.Sorted(slices.Values(m.Rows))
		}
		members[m.File] = append(members[m.File], m)
	}
	several := len(files) > 1
	header := "row,split\n"
	if several {
		header = "row,file,split\n"
	}
	if _, err := w.WriteString(header); err != nil {
		return err
	}
	var line []byte
	for _, file := range files {
		name := ""
		if several {
			var err error
			if name, err = field(file); err != nil {
				return err
			}
		}
		rest := members[file]
		for {
			var next *results.Members // has the smallest row that is left
			for k := range rest {
				if m := &rest[k]; len(m.Rows) > 0 && (next == nil || m.Rows[0] < next.Rows[0]) {
					next = m
				}
			}
			if next == nil {
				break
			}
			line = append(strconv.AppendInt(line[:0], int64(next.Rows[0]+1), 10), ',')
			line = append(append(append(line, name...), next.Split...), '\n')
			next.Rows = next.Rows[1:]
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// field returns the text as a field of a CSV with the comma after it.
func field(text string) (string, error) {
	var out strings.Builder
	w := csv.NewWriter(&out)
	if err := w.Write([]string{text, ""}); err != nil {
		return "", err
	}
	w.Flush()
	return strings.TrimSuffix(out.String(), "\n"), w.Error()
}

// SameRows reports whether data is the content of the file of rows that WriteRows writes for the
// list. line is the first line that differs.
func SameRows(data []byte, list []results.Members) (line int, same bool, err error) {
	var in io.Reader = bytes.NewReader(data)
	if RowsName(list) == rowsCompressed { // another version may compress otherwise
		zip, err := gzip.NewReader(in)
		if err != nil {
			return 1, false, nil
		}
		in = zip
	}
	c := &comparison{in: bufio.NewReader(in), line: 1}
	w := bufio.NewWriter(c)
	if err := cmp.Or(writeRows(w, list), w.Flush()); err != nil && !c.differs {
		return 0, false, err
	}
	_, end := c.in.ReadByte()
	return c.line, !c.differs && errors.Is(end, io.EOF), nil
}

// comparison compares what is written to it with what it reads.
type comparison struct {
	in      *bufio.Reader
	line    int
	differs bool
}

// Write implements io.Writer. It fails at the first byte that differs.
func (c *comparison) Write(want []byte) (int, error) {
	for i, b := range want {
		if got, err := c.in.ReadByte(); err != nil || got != b {
			c.differs = true
			return i, io.ErrUnexpectedEOF
		}
		if b == '\n' {
			c.line++
		}
	}
	return len(want), nil
}

// Row is a line of rows.csv.
type Row struct {
	Number int    // in its file, from 1
	File   string // "" with one file
	Split  results.Split
}

// ReadRows reads the file of the given name that WriteRows wrote.
func (d Dir) ReadRows(name string) ([]Row, error) {
	path := filepath.Join(string(d), name)
	data, err := Seal{}.Read(path)
	if err != nil {
		return nil, err
	}
	var in io.Reader = bytes.NewReader(data)
	if name == rowsCompressed {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("rundir: %s: %w", path, err)
		}
		in = zip
	}
	r := csv.NewReader(in)
	r.ReuseRecord = true
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("rundir: %s: %w", path, err)
	}
	fields := len(header)
	var rows []Row
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("rundir: %s: %w", path, err)
		}
		row := Row{Split: results.Split(record[fields-1])}
		if row.Number, err = strconv.Atoi(record[0]); err != nil {
			return nil, fmt.Errorf("rundir: %s: %w", path, err)
		}
		if fields > 2 {
			row.File = record[1]
		}
		rows = append(rows, row)
	}
}
