package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/recordio"
)

// State is the result of comparing a file on disk with the published file.
type State int

const (
	Missing    State = iota // the file does not exist
	Original                // the file has the published checksum
	Different               // the file exists and differs from the published file
	Unverified              // the file exists in a form without a published checksum
)

// String returns the state as one word.
func (s State) String() string {
	return [...]string{"missing", "ok", "differs", "unverified"}[s]
}

// FileStatus describes one file of a Report.
type FileStatus struct {
	File   File   // as published; Path is the path that was checked
	State  State  // result of the comparison
	Size   int64  // bytes on disk, 0 when missing
	SHA256 string // of the bytes on disk, in hexadecimal; empty when missing
	Note   string // what differs, as one clause; empty if nothing differs
}

// Counts holds the number of rows of a data set, and of each of its classes.
type Counts struct {
	Rows     int
	PerClass []int
}

// Report is the result of Check.
type Report struct {
	Dataset     Dataset
	Files       []FileStatus    // the files that loading would read; empty for a built-in set
	Train, Test *Counts         // of images; nil if they could not be read
	Tables      *tabular.Tables // of a table; nil if it could not be read
	Warnings    []string        // sentences for the user
}

// Verify compares the files of the named data set in the data directory dir with the published
// files. It reads each file once, for its checksum, and parses no rows. own are the paths of the
// user's files, for data sets without files of their own. A file that differs can still be read;
// Warnings says so. Verify returns an error if the name is unknown, if a file cannot be read, or if
// ctx is cancelled. A missing file is not an error.
func Verify(ctx context.Context, dir, name string, own ...string) (*Report, error) {
	d, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	report := &Report{Dataset: d}
	if d.Own {
		if len(own) == 0 {
			own = []string{""}
		}
		for _, path := range own {
			if err := checkOwnFile((&tabular.TableOptions{File: path}), d); err != nil {
				return nil, err
			}
			found, err := sumFile(ctx, path)
			if err != nil {
				return nil, err
			}
			report.Files = append(report.Files, FileStatus{File: File{Path: path}, State: Unverified, Size: found.size, SHA256: found.sha256})
		}
		return report, nil
	}
	count := map[State]int{}
	for _, file := range filesRead(dir, d) {
		status, err := checkFile(ctx, dir, file)
		if err != nil {
			return nil, err
		}
		if file.published() {
			count[status.State]++
		}
		report.Files = append(report.Files, status)
	}
	if n := count[Different]; n > 0 {
		report.Warnings = append(report.Warnings, fmt.Sprintf(
			"%d of %d files of %s differ from the published files: results are not comparable with published results.",
			n, len(report.Files), name))
	}
	if n := count[Unverified]; n > 0 {
		report.Warnings = append(report.Warnings, fmt.Sprintf(
			"%d of %d files of %s are decompressed copies without a published checksum: they may differ from the published files.",
			n, len(report.Files), name))
	}
	return report, nil
}

// Check does the same as Verify, and also reads the data set to count the rows. Check reads images
// with the options' seed and ignores the other options. Check reads tables like LoadTable.
//
// If the data set cannot be read, Check returns the report on the files together with the error of
// loading. The report is nil only if Verify fails.
func Check(ctx context.Context, dir, name string, opts tabular.TableOptions) (*Report, error) {
	report, err := Verify(ctx, dir, name, opts.OwnFiles()...)
	if err != nil {
		return nil, err
	}
	if report.Dataset.Tabular() {
		if report.Tables, err = LoadTableContext(ctx, dir, name, opts); err == nil {
			report.Warnings = append(report.Warnings, report.Tables.Warnings...)
		}
		return report, err
	}
	return report, report.countImages(dir, opts.Seed)
}

// countImages counts the rows and reads all pixels without keeping them.
func (r *Report) countImages(dir string, seed uint64) error {
	train, test, err := OpenImages(dir, r.Dataset.Name, seed)
	if err != nil {
		return err
	}
	for _, p := range []*picture.Pictures{train, test} {
		if err := p.Check(); err != nil {
			return err
		}
	}
	classes := len(r.Dataset.Classes)
	r.Train = &Counts{Rows: len(train.Labels), PerClass: picture.Count(train.Labels, classes)}
	r.Test = &Counts{Rows: len(test.Labels), PerClass: picture.Count(test.Labels, classes)}
	if present := picture.ClassesWithRows(train.Labels, classes); len(present) < classes {
		r.Warnings = append(r.Warnings, fmt.Sprintf("Only the classes %v of %s have training rows.", present, r.Dataset.Name))
	}
	return nil
}

// filesRead lists the files that loading would read. The unpacked folder has priority over the
// archive.
func filesRead(dir string, d Dataset) []File {
	if len(d.unpacked) > 0 && recordio.Exists(filepath.Join(dir, filepath.Dir(filepath.FromSlash(d.unpacked[0].Path)))) {
		return d.unpacked
	}
	return d.Files
}

// Paths returns the paths of the files in the data directory dir that loading the named data set
// would read.
func Paths(dir, name string) (paths []string, err error) {
	d, err := Lookup(name)
	for _, f := range filesRead(dir, d) {
		paths = append(paths, recordio.OrUnzipped(filepath.Join(dir, filepath.FromSlash(f.Path))))
	}
	return paths, err
}

func checkFile(ctx context.Context, dir string, file File) (FileStatus, error) {
	path := filepath.Join(dir, filepath.FromSlash(file.Path))
	if plain := recordio.OrUnzipped(path); plain != path {
		found, err := sumRegular(ctx, plain)
		file.Path = file.Path[:len(file.Path)-len(".gz")]
		return FileStatus{File: file, State: Unverified, Size: found.size, SHA256: found.sha256,
			Note: "a decompressed copy has no published checksum"}, err
	}
	found, err := sumRegular(ctx, path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return FileStatus{File: file, State: Missing}, nil
	case err != nil:
		return FileStatus{}, err
	}
	status := FileStatus{File: file, State: Original, Size: found.size, SHA256: found.sha256}
	if !file.published() {
		status.State, status.Note = Unverified, "no checksum of the file is published"
	}
	if err := found.matches(file); err != nil {
		status.State, status.Note = Different, err.Error()
	}
	return status, nil
}
