package recordio

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ppal/datasets/dataerr"
)

// Folder lists the pictures of a folder: PNG and JPEG files in a folder for each class, below
// folders train, val and test if there are such folders. Symbolic links are followed.
type Folder struct {
	Path    string
	Files   []FolderFile // by split, class and path
	Classes []string
	Splits  bool     // the folders are those of splits
	Flat    bool     // the pictures lie in the folder itself, without classes
	LeftOut []string // paths that are no pictures, relative to the folder
}

// FolderFile is a picture of a folder.
type FolderFile struct {
	Path         string // relative to the folder, with slashes
	Class, Split string
}

// The names of the folders of splits, in lower case. A folder has splits if all its folders have
// such names and one is the folder of the training.
var splitFolders = []string{"train", "training", "val", "valid", "validation", "dev", "test", "testing"}

// pictureEndings are the endings of the names of pictures, in lower case.
var pictureEndings = []string{".png", ".jpg", ".jpeg"}

// IsPicture reports whether a file has the name of a picture.
func IsPicture(name string) bool {
	return slices.Contains(pictureEndings, strings.ToLower(filepath.Ext(name)))
}

// ReadFolder lists the pictures of a folder. Errors are *FileError.
func ReadFolder(path string) (*Folder, error) {
	f := &Folder{Path: path}
	folders, pictures, err := f.list("")
	if err != nil {
		return nil, err
	}
	trains := slices.ContainsFunc(folders, func(s string) bool { return strings.HasPrefix(strings.ToLower(s), splitFolders[0]) })
	f.Splits = trains && !slices.ContainsFunc(folders, func(s string) bool { return !slices.Contains(splitFolders, strings.ToLower(s)) })
	switch f.Flat = len(folders) == 0; {
	case f.Flat:
		for _, p := range pictures {
			f.Files = append(f.Files, FolderFile{Path: p})
		}
		return f, nil
	case f.Splits:
		for _, split := range folders {
			classes, outside, err := f.list(split)
			if err != nil {
				return nil, err
			}
			f.LeftOut = append(f.LeftOut, outside...)
			if err := f.addClasses(classes, split); err != nil {
				return nil, err
			}
		}
	default:
		if err := f.addClasses(folders, ""); err != nil {
			return nil, err
		}
	}
	f.LeftOut = append(f.LeftOut, pictures...)
	slices.Sort(f.Classes)
	f.Classes = slices.Compact(f.Classes)
	return f, nil
}

// addClasses adds the pictures of the folders of classes.
func (f *Folder) addClasses(folders []string, split string) error {
	for _, folder := range folders {
		class, before := filepath.Base(folder), len(f.Files)
		if err := f.addBelow(folder, FolderFile{Class: class, Split: split}, nil); err != nil {
			return err
		}
		if len(f.Files) == before {
			f.LeftOut = append(f.LeftOut, folder)
			continue
		}
		f.Classes = append(f.Classes, class)
	}
	return nil
}

// addBelow adds the pictures in a folder and the folders below it. above are the folders above.
func (f *Folder) addBelow(folder string, of FolderFile, above []fs.FileInfo) error {
	info, err := os.Stat(filepath.Join(f.Path, folder))
	if err != nil {
		return FileError(filepath.Join(f.Path, folder), err)
	}
	if slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, info) }) {
		return &dataerr.FileError{Path: filepath.Join(f.Path, folder), Offset: -1, Err: fmt.Errorf("%w: the link leads to a folder above it", dataerr.ErrFormat), Advice: "remove the link"}
	}
	folders, pictures, err := f.list(folder)
	if err != nil {
		return err
	}
	for _, p := range pictures {
		of.Path = filepath.ToSlash(p)
		f.Files = append(f.Files, of)
	}
	for _, below := range folders {
		if err := f.addBelow(below, of, append(slices.Clip(above), info)); err != nil {
			return err
		}
	}
	return nil
}

// list returns the paths of the folders and of the pictures in a folder, by name. Other files are
// left out, and hidden files are ignored.
func (f *Folder) list(folder string) (folders, pictures []string, err error) {
	path := filepath.Join(f.Path, folder)
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, nil, FileError(path, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			info, err := os.Stat(filepath.Join(path, e.Name()))
			if err != nil {
				return nil, nil, FileError(filepath.Join(path, e.Name()), err)
			}
			mode = info.Mode()
		}
		own := filepath.Join(folder, e.Name())
		switch {
		case mode.IsDir():
			folders = append(folders, own)
		case mode.IsRegular() && IsPicture(own):
			pictures = append(pictures, own)
		default:
			f.LeftOut = append(f.LeftOut, own)
		}
	}
	return folders, pictures, nil
}

// The columns of the table of a folder.
const (
	FolderPicture = "picture" // the path of the picture, relative to the folder
	FolderClass   = "class"   // the name of the class's folder
	FolderSplit   = "split"   // the name of the split's folder
)

// table returns the listed pictures as a text of separated fields, with the given names of the
// columns of the path and of the class. A flat folder has no column of classes, and a folder
// without folders of splits has no column of splits.
func (f *Folder) table(picture, class string) []byte {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	record := []string{picture, class, FolderSplit}
	width := len(record)
	switch {
	case f.Flat:
		width = 1
	case !f.Splits:
		width = 2
	}
	_ = w.Write(record[:width]) // a bytes.Buffer has no errors
	for _, file := range f.Files {
		record = append(record[:0], file.Path, file.Class, file.Split)
		_ = w.Write(record[:width])
	}
	w.Flush()
	return text.Bytes()
}

// IsFolder reports whether the path is a folder.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// folderInput is the table of a folder.
type folderInput struct{ *io.SectionReader }

// OpenFolder returns the table of a folder, with the given names of the columns of the path and of
// the class.
func OpenFolder(path, picture, class string) (Input, error) {
	f, err := ReadFolder(path)
	if err != nil {
		return nil, err
	}
	text := f.table(picture, class)
	return folderInput{io.NewSectionReader(bytes.NewReader(text), 0, int64(len(text)))}, nil
}

// unchanged implements Input: the table is in memory.
func (folderInput) unchanged() error { return nil }

// Close implements io.Closer.
func (folderInput) Close() error { return nil }
