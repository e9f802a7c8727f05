package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	File  File   // as published; Path is what was looked at
	State State  // how it compares
	Size  int64  // bytes on disk, 0 when missing
	Note  string // what differs, one clause; empty when nothing does
}

// Counts is the number of rows of a set, and of each of its classes.
type Counts struct {
	Rows     int
	PerClass []int
}

// Report is what Check found.
type Report struct {
	Dataset     Dataset
	Files       []FileStatus // those that Load would read; none for a built-in set
	Train, Test *Counts      // nil where the set could not be read
	Warnings    []string     // sentences for the user
}

// Check compares the files of the named set in the data directory dir with the
// published ones, and counts the rows by reading the set as Load does, with
// that seed. Files that differ can still be read; Warnings says so.
//
// When the set cannot be read, the report holds what was found about the files
// and the error is Load's. The report is nil only for an unknown name or a
// file that cannot be opened.
func Check(ctx context.Context, dir, name string, seed uint64) (*Report, error) {
	d, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	report := &Report{Dataset: d}
	different := 0
	for _, file := range filesRead(dir, d) {
		status, err := checkFile(ctx, dir, file)
		if err != nil {
			return nil, err
		}
		if status.State == Different {
			different++
		}
		report.Files = append(report.Files, status)
	}
	if different > 0 {
		report.Warnings = append(report.Warnings, fmt.Sprintf(
			"%d of %d files of %s are not the published ones: results are not comparable with published results.",
			different, len(report.Files), name))
	}
	train, test, err := Load(dir, name, seed)
	if err != nil {
		return report, err
	}
	report.Train = &Counts{Rows: train.Pixels.Rows, PerClass: train.Counts()}
	report.Test = &Counts{Rows: test.Pixels.Rows, PerClass: test.Counts()}
	if present := classesWithRows(train); len(present) < len(d.Classes) {
		report.Warnings = append(report.Warnings, fmt.Sprintf(
			"only classes %v of %s have training rows.", present, name))
	}
	return report, nil
}

// filesRead lists the files that Load would read: the unpacked folder comes
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
		info, err := os.Stat(plain)
		if err != nil {
			return FileStatus{}, fileError(plain, err)
		}
		file.Path = file.Path[:len(file.Path)-len(".gz")]
		return FileStatus{File: file, State: Unverified, Size: info.Size(), Note: "a decompressed copy has no published checksum"}, nil
	}
	found, err := sumFile(ctx, path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return FileStatus{File: file, State: Missing}, nil
	case err != nil:
		return FileStatus{}, err
	}
	status := FileStatus{File: file, State: Original, Size: found.size}
	if err := found.matches(file); err != nil {
		status.State, status.Note = Different, err.Error()
	}
	return status, nil
}
