package recordio

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The arrays of NumPy are a .npy file with one array, or a .npz file, a zip archive of named
// arrays. The elements are numbers or texts, in C or Fortran order, and in either byte order. An
// array reads its rows on demand, also for several goroutines.

// archiveMagic is the first bytes of a .npz file, as of every zip archive.
const archiveMagic = "PK\x03\x04"

// plainName is the name of the array in a .npy file.
const plainName = "X"

// ending is the file name extension of the members of an archive.
const ending = ".npy"

// isArchive reports whether a file with the first bytes head is an archive whose first member is an
// array.
func isArchive(head []byte) bool {
	const lengthAt, nameAt = 26, 30 // in the header of a member
	if len(head) < nameAt || string(head[:len(archiveMagic)]) != archiveMagic {
		return false
	}
	length := int(head[lengthAt]) | int(head[lengthAt+1])<<8
	return nameAt+length <= len(head) && strings.HasSuffix(string(head[nameAt:nameAt+length]), ending)
}

// open returns the arrays of a file of size bytes. All arrays have the same number of rows. An
// error about an archive names the array.
func open(r io.ReaderAt, size int64) ([]*array, error) {
	var magic [len(Magic)]byte
	if _, err := r.ReadAt(magic[:], 0); err != nil && err != io.EOF {
		return nil, err
	}
	if string(magic[:]) == Magic {
		a, err := newArray(plainName, r, size)
		if err != nil {
			return nil, fmt.Errorf("the array: %w", err)
		}
		return []*array{a}, nil
	}
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("the archive: %w", err)
	}
	var list []*array
	for _, member := range archive.File {
		name, is := strings.CutSuffix(member.Name, ending)
		if !is || name == "" {
			return nil, fmt.Errorf("the archive contains the file %.80q, want only arrays (%s)", member.Name, ending)
		}
		a, err := openMember(r, size, member, name)
		if err != nil {
			return nil, fmt.Errorf("array %s: %w", name, err)
		}
		if list = append(list, a); a.Rows() != list[0].Rows() {
			return nil, fmt.Errorf("array %s has %d rows, but array %s has %d: write arrays with different numbers of rows to separate files",
				name, a.Rows(), list[0].Name, list[0].Rows())
		}
	}
	if len(list) == 0 {
		return nil, errors.New("the archive has no arrays")
	}
	return list, nil
}

// mostInflated is the largest ratio of DEFLATE's output to its input.
const mostInflated = 1032

// openMember returns the array in a member of an archive. An uncompressed array stays in the
// archive and is read there. A compressed array is decompressed into memory or, if it is large,
// into a file without a name.
func openMember(r io.ReaderAt, size int64, member *zip.File, name string) (*array, error) {
	bytes := int64(member.UncompressedSize64)
	if member.Method == zip.Store {
		at, err := member.DataOffset()
		if err != nil {
			return nil, err
		}
		if bytes < 0 || at > size-bytes {
			return nil, fmt.Errorf("the array needs %d bytes, but the archive has only %d", bytes, size)
		}
		a, err := newArray(name, io.NewSectionReader(r, at, bytes), bytes)
		if err == nil {
			a.base = at
		}
		return a, err
	}
	if bytes < 0 || member.UncompressedSize64/mostInflated > member.CompressedSize64 {
		return nil, fmt.Errorf("the archive states that %d compressed bytes expand to %d bytes, which is not possible", member.CompressedSize64, member.UncompressedSize64)
	}
	in, err := member.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	kept, err := spoolBinary(in)
	if err != nil {
		return nil, err
	}
	a, err := newArray(name, kept.Reader(), kept.Reader().Size())
	if err == nil {
		a.packed = true
	}
	return a, err
}
