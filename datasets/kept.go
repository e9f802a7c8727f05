package datasets

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"ppal/internal/paged"
)

// Keep says where a process with TableOptions.Pages keeps the values of a csv file's columns for
// later processes. A later process with the same file and the same columns does not parse the rows.
//
// The name of the kept file depends on the table's path and on the options that determine how rows
// are read, but not on the split, the seed and the centres of the features. If a kept file is
// damaged, or if the table has changed, the kept file is replaced.
type Keep struct {
	// Folder is the directory of the kept files. The directory is made if it does not exist.
	Folder string
	// SHA256 returns the checksum of TableOptions.File, in hexadecimal.
	SHA256 func() (string, error)
}

// keptVersion changes when the same table and options give other values.
const keptVersion = 1

// keptIndex describes the values in a kept file.
type keptIndex struct {
	Key      string // keeper.key of the process that wrote the file
	SHA256   string // of the table
	Profiles []sentProfile
	Schema   string // schemaKey of the columns
	Rows     int
	Source   int64 // position of sheet.source; 0: all rows
	Columns  []keptColumn
}

// keptColumn is a column in a kept file.
type keptColumn struct {
	Name    string
	Values  []string
	Numbers bool
	At      int64
}

// keeper keeps the rows of one table. The methods of a nil *keeper do nothing.
type keeper struct {
	table *ownTable
	keep  *Keep
	path  string // of the kept file
	key   string
	size  int64 // of the table when its reading began
	time  int64

	index *keptIndex // of the open file; nil: none is usable
	file  *paged.Kept
}

// errOtherRows is the error of a kept file of another table or of other options.
var errOtherRows = errors.New("it has the rows of another table")

// errChanged is the error of a kept file of an older version of the table.
var errChanged = errors.New("the table has changed")

// keeper returns the keeper of the table's rows, or nil if the rows are not kept: for pipes and for
// tables in memory.
func (t *ownTable) keeper() *keeper {
	if t.opts.Keep == nil || t.opts.Pages == nil {
		return nil
	}
	info, err := os.Stat(t.opts.File)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	path, err := filepath.Abs(t.opts.File)
	if err != nil {
		return nil
	}
	type column struct {
		Name                                    string
		Field                                   int
		Feature, Label, Split, Categories, Only bool
	}
	key := struct {
		Version                       int
		Program, Path                 string
		Separator                     rune
		Missing, Dates, Decimal, When string
		Columns                       []column
	}{keptVersion, "", path, t.opts.Separator, t.opts.Missing, t.opts.Dates, t.opts.Decimal, "", nil}
	if build, ok := debug.ReadBuildInfo(); ok { // another version may read a text in another way
		key.Program = build.Main.Version
		if v := build.Main.Version; v == "" || v == "(devel)" || strings.HasSuffix(v, "+dirty") { // says nothing of the code
			key.Program += " " + programFile()
		}
	}
	if t.when != nil {
		key.When = t.when.text
	}
	for _, c := range t.columns {
		key.Columns = append(key.Columns, column{c.name, c.field, c.feature, c.label, c.split, c.categorical, c.profile.onlyCategories})
	}
	text, err := json.Marshal(key)
	if err != nil {
		return nil
	}
	name := fmt.Sprintf("%s-%.16x.rows", filepath.Base(path), sha256.Sum256(text))
	return &keeper{table: t, keep: t.opts.Keep, path: filepath.Join(t.opts.Keep.Folder, name), key: string(text),
		size: info.Size(), time: info.ModTime().UnixNano()}
}

// programFile describes the program's file by its size and time.
func programFile() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// open opens the kept file of the table. If open cannot use the file, the table gets a note or a
// warning.
func (k *keeper) open() {
	if k == nil {
		return
	}
	index := &keptIndex{}
	file, err := k.table.opts.Pages.OpenKept(k.path, func(text []byte) error {
		if json.Unmarshal(text, index) != nil || index.Key != k.key {
			return errOtherRows
		}
		return nil
	})
	if err == nil { // meanwhile the caller has computed the checksum of the table
		var sum string
		if sum, err = k.keep.SHA256(); err == nil && sum != index.SHA256 {
			err = errChanged
		}
	}
	switch {
	case err == nil:
		k.index, k.file = index, file
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, errChanged):
		k.table.notes = append(k.table.notes, fmt.Sprintf("%s has changed since its rows were kept. The rows are read and kept again.", k.table.opts.File))
	default:
		k.unusable(err)
	}
}

// learned gives the kept profiles to the table, and reports whether there are any.
func (k *keeper) learned() bool {
	if k == nil || k.index == nil || len(k.index.Profiles) != len(k.table.columns) {
		return false
	}
	for i, c := range k.table.columns {
		c.profile = k.index.Profiles[i].profile(c.profile.onlyCategories)
	}
	return true
}

// profiles returns the profiles of all columns, before the table decides which to use.
func (k *keeper) profiles() (all []sentProfile) {
	if k == nil {
		return nil
	}
	for _, c := range k.table.columns {
		all = append(all, c.profile.send())
	}
	return all
}

// schemaKey describes what a schema reads.
func schemaKey(s *schema) string {
	text := fmt.Sprint(s.drop)
	for i := range s.columns {
		c := &s.columns[i]
		text += fmt.Sprintf(";%q %q %t %t %t %t", c.name, c.from, c.numeric, c.unknown, c.missing, c.free)
	}
	return text
}

// sheet returns the kept rows of a schema, or nil if there are none.
func (k *keeper) sheet(wanted *schema) *sheet {
	if k == nil || k.index == nil || k.index.Schema != schemaKey(wanted) {
		return nil
	}
	s, err := k.read()
	if err != nil {
		k.unusable(err)
		return nil
	}
	k.note("The kept rows of %s are read from %s. You may delete this file at any time.")
	return s
}

// unusable warns of a kept file that is not used.
func (k *keeper) unusable(err error) {
	k.table.warnings = append(k.table.warnings, fmt.Sprintf("The kept rows in %s cannot be used (%v): the rows of %s are read again.", k.path, err, k.table.opts.File))
}

// read returns the rows in the kept file.
func (k *keeper) read() (*sheet, error) {
	s := &sheet{name: k.table.opts.File, rows: k.index.Rows, pages: k.table.opts.Pages}
	var err error
	if k.index.Source != 0 {
		if s.source, err = paged.Get[int](k.file, k.index.Source, s.rows); err != nil {
			return nil, err
		}
	}
	for _, kept := range k.index.Columns {
		c := &column{name: kept.Name, values: kept.Values}
		if kept.Numbers {
			c.numbers, err = paged.Get[float64](k.file, kept.At, s.rows)
		} else {
			c.codes, err = paged.Get[int32](k.file, kept.At, s.rows)
		}
		if err != nil {
			return nil, err
		}
		s.columns = append(s.columns, c)
	}
	return s, nil
}

func (k *keeper) note(format string) {
	k.table.notes = append(k.table.notes, fmt.Sprintf(format, k.table.opts.File, k.path))
}

// write keeps the rows of a sheet. The columns then lie in the kept file. If the file cannot be
// written, the table gets a warning, because the run does not need the file.
func (k *keeper) write(s *sheet, of *schema, profiles []sentProfile) {
	if k == nil {
		return
	}
	if err := k.tryWrite(s, of, profiles); err != nil {
		k.table.warnings = append(k.table.warnings, fmt.Sprintf("The rows of %s are not kept for later runs: %v.", k.table.opts.File, err))
		return
	}
	k.note("The rows of %s are kept for later runs in %s. You may delete this file at any time.")
}

func (k *keeper) tryWrite(s *sheet, of *schema, profiles []sentProfile) (err error) {
	sum, err := k.keep.SHA256()
	if err != nil {
		return err
	}
	if info, err := os.Stat(k.table.opts.File); err != nil || info.Size() != k.size || info.ModTime().UnixNano() != k.time {
		return cmp.Or(err, errors.New("the file changed while it was read"))
	}
	index := keptIndex{Key: k.key, SHA256: sum, Profiles: profiles, Schema: schemaKey(of), Rows: s.rows}
	size := paged.KeptBytes[int](len(s.source))
	for _, c := range s.columns {
		size += paged.KeptBytes[float64](len(c.numbers)) + paged.KeptBytes[int32](len(c.codes))
		if !utf8.ValidString(c.name) || slices.ContainsFunc(c.values, func(v string) bool { return !utf8.ValidString(v) }) {
			return fmt.Errorf("the column %q has a text that is not in UTF-8", c.name) // JSON would change it
		}
	}
	if err := os.MkdirAll(k.keep.Folder, 0o777); err != nil {
		return err
	}
	file, err := s.pages.NewKept(k.keep.Folder, size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Discard()) }()
	if s.source != nil {
		moved, at, err := paged.Put(file, s.source)
		if err != nil {
			return err
		}
		s.source, index.Source = moved, at
	}
	for _, c := range s.columns {
		kept := keptColumn{Name: c.name, Values: c.values, Numbers: c.codes == nil}
		if kept.Numbers {
			c.numbers, kept.At, err = move(file, s.pages, c.numbers)
		} else {
			c.codes, kept.At, err = move(file, s.pages, c.codes)
		}
		if err != nil {
			return err
		}
		index.Columns = append(index.Columns, kept)
	}
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	return file.Commit(k.path, text)
}

// move moves x to the kept file, and frees its own file. After an error x stays where it is.
func move[T any](file *paged.Kept, pages *paged.Dir, x []T) (moved []T, at int64, err error) {
	if moved, at, err = paged.Put(file, x); err != nil {
		return x, 0, err
	}
	return moved, at, paged.Free(pages, x)
}
