package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// State is how a file on disk compares with the published one.
type State int

const (
	Missing    State = iota // not there
	Original                // there, with the published checksums
	Different               // there, and not the published file
	Unverified              // there, in a form that has no published checksum
)

// String gives the state as one word.
func (s State) String() string {
	return [...]string{"missing", "ok", "differs", "unverified"}[s]
}

// FileStatus is one file's part of a Report.
type FileStatus struct {
	File   File   // as published; Path is what was looked at
	State  State  // how it compares
	Size   int64  // bytes on disk, 0 when missing
	SHA256 string // of the bytes on disk, in hexadecimal; empty when missing
	Note   string // what differs, one clause; empty when nothing does
}

// Counts is the number of rows of a set, and of each of its classes.
type Counts struct {
	Rows     int
	PerClass []int
}

// Report is what Check found.
type Report struct {
	Dataset     Dataset
	Files       []FileStatus // those that loading would read; none for a built-in set
	Train, Test *Counts      // of images; nil where they could not be read
	Tables      *Tables      // of a table; nil where it could not be read
	Warnings    []string     // sentences for the user
}

// Verify compares the files of the named set in the data directory dir with the
// published ones: it reads each once, for its checksum, and no rows. own is the
// path of the user's file for sets that have none of their own. Files that
// differ can still be read; Warnings says so. The error is that of an unknown
// name, of a file that cannot be read, or the context's; a file that is missing
// is none.
func Verify(ctx context.Context, dir, name, own string) (*Report, error) {
	d, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	report := &Report{Dataset: d}
	if d.Own {
		if err := (&TableOptions{File: own}).checkFile(d); err != nil {
			return nil, err
		}
		found, err := sumFile(ctx, own)
		if err != nil {
			return nil, err
		}
		report.Files = []FileStatus{{File: File{Path: own}, State: Unverified, Size: found.size, SHA256: found.sha256}}
		return report, nil
	}
	count := map[State]int{}
	for _, file := range filesRead(dir, d) {
		status, err := checkFile(ctx, dir, file)
		if err != nil {
			return nil, err
		}
		count[status.State]++
		report.Files = append(report.Files, status)
	}
	if n := count[Different]; n > 0 {
		report.Warnings = append(report.Warnings, fmt.Sprintf(
			"%d of %d files of %s are not the published ones: results are not comparable with published results.",
			n, len(report.Files), name))
	}
	if n := count[Unverified]; n > 0 {
		report.Warnings = append(report.Warnings, fmt.Sprintf(
			"%d of %d files of %s are decompressed copies, which have no published checksum: they may differ.",
			n, len(report.Files), name))
	}
	return report, nil
}

// Check does what Verify does, and counts the rows by reading the set: images
// with the options' seed, which says nothing else to them, tables as LoadTable
// does.
//
// When the set cannot be read, the report holds what was found about the files
// and the error is that of loading. The report is nil only where Verify fails.
func Check(ctx context.Context, dir, name string, opts TableOptions) (*Report, error) {
	report, err := Verify(ctx, dir, name, opts.File)
	if err != nil {
		return nil, err
	}
	if report.Dataset.Tabular() {
		if report.Tables, err = LoadTable(dir, name, opts); err == nil {
			report.Warnings = append(report.Warnings, report.Tables.Warnings...)
		}
		return report, err
	}
	return report, report.countImages(dir, opts.Seed)
}

// countImages counts the rows and reads them all, to nowhere.
func (r *Report) countImages(dir string, seed uint64) error {
	train, test, err := OpenImages(dir, r.Dataset.Name, seed)
	if err != nil {
		return err
	}
	for _, p := range []*Pictures{train, test} {
		if _, err := p.read(slices.Repeat([]int{-1}, len(p.Labels)), nil); err != nil {
			return err
		}
	}
	classes := len(r.Dataset.Classes)
	r.Train = &Counts{Rows: len(train.Labels), PerClass: count(train.Labels, classes)}
	r.Test = &Counts{Rows: len(test.Labels), PerClass: count(test.Labels, classes)}
	if present := classesWithRows(train.Labels, classes); len(present) < classes {
		r.Warnings = append(r.Warnings, fmt.Sprintf("only classes %v of %s have training rows.", present, r.Dataset.Name))
	}
	return nil
}

// filesRead lists the files that loading would read: the unpacked folder comes
// before the archive.
func filesRead(dir string, d Dataset) []File {
	if len(d.unpacked) > 0 && exists(filepath.Join(dir, filepath.Dir(filepath.FromSlash(d.unpacked[0].Path)))) {
		return d.unpacked
	}
	return d.Files
}

func checkFile(ctx context.Context, dir string, file File) (FileStatus, error) {
	path := filepath.Join(dir, filepath.FromSlash(file.Path))
	if plain := orUnzipped(path); plain != path {
		found, err := sumFile(ctx, plain)
		file.Path = file.Path[:len(file.Path)-len(".gz")]
		return FileStatus{File: file, State: Unverified, Size: found.size, SHA256: found.sha256,
			Note: "a decompressed copy has no published checksum"}, err
	}
	found, err := sumFile(ctx, path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return FileStatus{File: file, State: Missing}, nil
	case err != nil:
		return FileStatus{}, err
	}
	status := FileStatus{File: file, State: Original, Size: found.size, SHA256: found.sha256}
	if err := found.matches(file); err != nil {
		status.State, status.Note = Different, err.Error()
	}
	return status, nil
}
