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

// Keeper keeps the arrays of one source of rows, which is a file or several files, in a kept file
// for later processes. The methods of a nil *Keeper do nothing.
//
// The name of the kept file depends on the key, which describes the source and everything that
// determines the rows. If a kept file is damaged, or if the source has changed, the kept file is
// replaced. A kept file that cannot be used or written is a warning, because no run needs it.
type Keeper struct {
	// Note and Warn receive remarks for the user, one sentence or more each.
	Note, Warn func(text string)

	dir    *Dir
	path   string // of the kept file
	key    string
	name   string   // of the source
	files  []string // of the source
	stamps []string // sizes and times of the files when their reading began
	sum    func() (string, error)
}

// errOtherRows is the error of a kept file of another source or of other options.
var errOtherRows = errors.New("it has the rows of another source")

// errChanged is the error of a kept file of an older version of the source.
var errChanged = errors.New("the source has changed")

// errChanging says that a source changed while it was read.
var errChanging = errors.New("the file changed while it was read")

// NewKeeper returns the keeper of the rows of a source in a folder, which Write makes if it does
// not exist. name names the source for the user, and files are the paths of its files. key is
// turned into JSON; the version of the program is part of the key, because another version may read
// a source in another way. sum returns the checksum of the source, in hexadecimal. The result is
// nil, so that nothing is kept, if d is nil, the folder is "", or a file is not a regular file.
func (d *Dir) NewKeeper(folder, name string, files []string, key any, sum func() (string, error)) *Keeper {
	if d == nil || folder == "" {
		return nil
	}
	k := &Keeper{dir: d, name: name, files: files, sum: sum}
	var err error
	if k.stamps, err = stampsOf(files); err != nil {
		return nil
	}
	text, err := json.Marshal(struct{ Program, Rows any }{program(), key})
	if err != nil {
		return nil
	}
	k.key = string(text)
	k.path = filepath.Join(folder, fmt.Sprintf("%s-%.16x.rows", filepath.Base(name), sha256.Sum256(text)))
	return k
}

// stampsOf returns the sizes and times of files. The error says that one is not a regular file.
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

func stamp(info fs.FileInfo) string { return fmt.Sprint(info.Size(), info.ModTime().UnixNano()) }

// program describes the version of the program. A build whose version says nothing of its code is
// described by its file, too.
func program() string {
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

// Path returns the path of the kept file.
func (k *Keeper) Path() string { return k.path }

// Open opens the kept file of the source and reads its index. The result is nil if there is no file
// or if Open cannot use the file.
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
		k.Note(fmt.Sprintf("%s has changed since its rows were kept. The rows are read and kept again.", k.name))
	default:
		k.Unusable(err)
	}
	return nil
}

// Unusable warns of a kept file that is not used.
func (k *Keeper) Unusable(err error) {
	k.Warn(fmt.Sprintf("The kept rows in %s cannot be used (%v): the rows of %s are read again.", k.path, err, k.name))
}

// Used notes that the rows come from the kept file.
func (k *Keeper) Used() {
	k.Note(fmt.Sprintf("The kept rows of %s are read from %s. You may delete this file at any time.", k.name, k.path))
}

// NotKept warns that the rows are not kept.
func (k *Keeper) NotKept(err error) {
	k.Warn(fmt.Sprintf("The rows of %s are not kept for later runs: %v.", k.name, err))
}

// Write writes a kept file of the arrays, which then lie there, and frees their own files. The
// index, which is turned into JSON, says what they mean. An array that Write has not moved after an
// error stays where it is.
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
