package mapped

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// Keeper caches the arrays of one source of rows in a kept file for later processes. A source is
// one or more files. The methods of a nil *Keeper do nothing.
//
// The name of the kept file depends on the key. The key describes the source and all options that
// determine the rows. A run replaces a damaged kept file, and the kept file of a source that has
// changed. If a kept file cannot be used or written, the run continues with a warning.
type Keeper struct {
	// Note and Warn receive texts of one or more sentences for the user.
	Note, Warn func(text string)

	dir    *Dir
	path   string                 // path of the kept file
	key    string                 // in JSON
	name   string                 // name of the source, for the user
	files  []string               // paths of the source
	stamps []string               // sizes and times of the files before they are read
	sum    func() (string, error) // returns the checksum of the source
}

// errOtherRows is the error of a kept file of another source or of other options.
var errOtherRows = errors.New("the file has the rows of another source")

// errChanged is the error of a kept file of an older version of the source.
var errChanged = errors.New("the source has changed")

// errChanging is the error of a source that changed while the process read it.
var errChanging = errors.New("the file changed while it was read")

// NewKeeper returns the keeper of the rows of a source. Write creates the folder if it does not
// exist. name is the source's name for the user, and files are the paths of its files. NewKeeper
// encodes key in JSON. sum returns the checksum of the source, in hexadecimal. The result is nil,
// which keeps nothing, if d is nil, if folder is "", or if a file is not a regular file.
func (d *Dir) NewKeeper(folder, name string, files []string, key any, sum func() (string, error)) *Keeper {
	if d == nil || folder == "" {
		return nil
	}
	k := &Keeper{dir: d, name: name, files: files, sum: sum}
	var err error
	if k.stamps, err = stampsOf(files); err != nil {
		return nil
	}
	text, err := json.Marshal(key)
	if err != nil {
		return nil
	}
	k.key = string(text)
	k.path = filepath.Join(folder, fmt.Sprintf("%s-%.16x.rows", filepath.Base(name), sha256.Sum256(text)))
	return k
}

// stampsOf returns the sizes and times of files. A file that is not regular is an error.
func stampsOf(files []string) (stamps []string, err error) {
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: %w", f, fs.ErrInvalid)
		}
		stamps = append(stamps, stamp(info))
	}
	return stamps, nil
}

// stamp returns the size and the time of a file as a text.
func stamp(info fs.FileInfo) string { return fmt.Sprint(info.Size(), info.ModTime().UnixNano()) }

// Program returns the version of the program, for keys of rows that another version may read
// differently. A development build has no useful version, so that Program adds the size and the
// time of the program's file.
func Program() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	v := build.Main.Version
	if v != "" && v != "(devel)" && !strings.HasSuffix(v, "+dirty") {
		return v
	}
	if path, err := os.Executable(); err == nil {
		if info, err := os.Stat(path); err == nil {
			v += " " + stamp(info)
		}
	}
	return v
}

// Open opens the kept file of the source, and decodes its index. The result is nil if the file does
// not exist or cannot be used.
func (k *Keeper) Open(index any) *Kept {
	if k == nil {
		return nil
	}
	file, err := k.dir.openKept(k.path, func(r *keptRecord) error {
		if r.Key != k.key || json.Unmarshal(r.Index, index) != nil {
			return errOtherRows
		}
		return nil
	})
	if err == nil { // meanwhile the caller has computed the checksum of the source
		var sum string
		if sum, err = k.sum(); err == nil && sum != file.record.SHA256 {
			err = errChanged
		}
	}
	switch {
	case err == nil:
		return file
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, errChanged):
		k.Note(fmt.Sprintf("%s has changed since its rows were kept. ppal reads and keeps the rows again.", k.name))
	default:
		k.Unusable(err)
	}
	return nil
}

// Unusable warns that the kept file cannot be used.
func (k *Keeper) Unusable(err error) {
	k.Warn(fmt.Sprintf("The kept rows in %s cannot be used (%v). ppal reads the rows of %s again.", k.path, err, k.name))
}

// Used notes that the rows come from the kept file.
func (k *Keeper) Used() {
	k.Note(fmt.Sprintf("The kept rows of %s are read from %s. You may delete this file at any time.", k.name, k.path))
}

// NotKept warns that the rows are not kept.
func (k *Keeper) NotKept(err error) {
	k.Warn(fmt.Sprintf("The rows of %s are not kept for later runs: %v.", k.name, err))
}

// Write moves the arrays to a new kept file, and frees their memory. index describes the arrays for
// Open; Write encodes it in JSON. After an error, the arrays that are not yet moved stay in their
// memory.
func (k *Keeper) Write(index any, arrays ...Array) {
	if k == nil {
		return
	}
	if err := k.write(index, arrays); err != nil {
		k.NotKept(err)
		return
	}
	k.Note(fmt.Sprintf("The rows of %s are kept for later runs in %s. You may delete this file at any time.", k.name, k.path))
}

// write is Write with an error.
func (k *Keeper) write(index any, arrays []Array) (err error) {
	record := keptRecord{Key: k.key}
	if record.SHA256, err = k.sum(); err != nil {
		return err
	}
	if record.Index, err = json.Marshal(index); err != nil {
		return err
	}
	now, err := stampsOf(k.files)
	if err == nil && fmt.Sprint(now) != fmt.Sprint(k.stamps) {
		err = errChanging
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(k.path), 0o777); err != nil {
		return err
	}
	return k.dir.writeKept(k.path, record, arrays)
}
