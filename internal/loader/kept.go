package loader

import (
	"fmt"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/mapped"
)

// keptVersion changes when the same table and options give other values.
const keptVersion = 5

// keptIndex describes the values in a kept file.
type keptIndex struct {
	Profiles []*columnar.Profile
	Schema   string // schemaKey of the columns
	Rows     int
	Listed   bool // the first array is sheet.source; else the rows are all rows
	Columns  []keptColumn
}

// keptColumn describes a column, which is an array in the kept file.
type keptColumn struct {
	Name    string
	Values  []string
	Numbers bool
	Single  bool // column.single
}

// keeper keeps the rows of one table. The methods of a nil *keeper do nothing.
type keeper struct {
	*mapped.Keeper
	table *UserTable
	index *keptIndex
	file  *mapped.Kept // nil: none is usable
}

// newKeeper returns a keeper of the rows that the key determines, or nil if the rows are not kept:
// for pipes and for tables in memory. The keeper adds its notes and warnings to the given lists.
func newKeeper(o *tabular.TableOptions, key func(path string) any, notes, warnings *[]string) *mapped.Keeper {
	if o.Keep == nil {
		return nil
	}
	path, err := filepath.Abs(o.File)
	if err != nil {
		return nil
	}
	k := pagesOf(o).NewKeeper(o.Keep.Folder, o.File, []string{o.File}, struct{ Program, Rows any }{mapped.Program(), key(path)}, o.Keep.SHA256)
	if k != nil {
		k.Note = func(text string) { *notes = append(*notes, text) }
		k.Warn = func(text string) { *warnings = append(*warnings, text) }
	}
	return k
}

// readKept reads the rows in a kept file. ok is false if it cannot: the rows are then read from the
// user's file, and kept again.
func readKept[T any](k *mapped.Keeper, file *mapped.Kept, read func(file *mapped.Kept) (T, error)) (rows T, ok bool) {
	rows, err := read(file)
	if err != nil {
		k.Unusable(err)
		return rows, false
	}
	k.Used()
	return rows, true
}

// keeper returns the keeper of the table's rows, or nil if the rows are not kept.
func (t *UserTable) keeper() *keeper {
	if slices.ContainsFunc(t.Columns, func(c *UserColumn) bool { return c.wide }) {
		return nil // the file of arrays is the kept file
	}
	base := newKeeper(t.Opts, t.Key, &t.notes, &t.warnings)
	if base == nil {
		return nil
	}
	return &keeper{Keeper: base, table: t}
}

// Key describes everything that determines the values of the columns.
func (t *UserTable) Key(path string) any {
	type column struct {
		Name                                           string
		Field                                          int
		Feature, Label, Split, Query, Categories, Only bool
		Weight                                         bool `json:",omitempty"`
	}
	key := struct {
		Version                       int
		Path                          string
		Layout                        tabular.Layout
		Absent                        []string
		Missing, Dates, Decimal, When string
		Columns                       []column
	}{keptVersion, path, t.layout(), absentOf(t.Opts), t.Opts.Missing, t.Opts.Dates, t.Opts.Decimal, "", nil}
	if t.When != nil {
		key.When = t.When.Text
	}
	for _, c := range t.Columns {
		key.Columns = append(key.Columns, column{c.Name, c.Field, c.Feature, c.Label, c.Split, c.Query, c.Categorical, c.Profile.OnlyCategories, c.Weight})
	}
	return key
}

// open opens the kept file of the table. If open cannot use the file, the table gets a note or a
// warning.
func (k *keeper) open() {
	if k != nil {
		k.index = &keptIndex{}
		k.file = k.Open(k.index)
	}
}

// learned gives the kept profiles to the table, and reports whether there are any.
func (k *keeper) learned() bool {
	if k == nil || k.file == nil || len(k.index.Profiles) != len(k.table.Columns) {
		return false
	}
	for i, c := range k.table.Columns {
		c.Profile = k.index.Profiles[i]
	}
	return true
}

// profiles returns the profiles of all columns, before the table decides which to use.
func (k *keeper) profiles() (all []*columnar.Profile) {
	if k == nil {
		return nil
	}
	for _, c := range k.table.Columns {
		all = append(all, c.Profile)
	}
	return all
}

// schemaKey describes what a schema reads.
func schemaKey(s *columnar.Schema) string {
	text := fmt.Sprint(s.Drop)
	for i := range s.Columns {
		c := &s.Columns[i]
		text += fmt.Sprintf(";%q %q %t %t %t %t", c.Name, c.From, c.Numeric, c.Unknown, c.Missing, c.Many)
	}
	return text
}

// sheet returns the kept rows of a schema, or nil if there are none.
func (k *keeper) sheet(wanted *columnar.Schema) *columnar.Sheet {
	if k == nil || k.file == nil || k.index.Schema != schemaKey(wanted) {
		return nil
	}
	s, ok := readKept(k.Keeper, k.file, k.read)
	if !ok {
		return nil
	}
	for i := range wanted.Columns {
		s.Column(wanted.Columns[i].Name).Decimal = wanted.Columns[i].Decimal
	}
	return s
}

// read returns the rows in the kept file.
func (k *keeper) read(file *mapped.Kept) (*columnar.Sheet, error) {
	s := &columnar.Sheet{Name: k.table.Opts.File, Rows: k.index.Rows, Pages: pagesOf(k.table.Opts)}
	for _, kept := range k.index.Columns {
		s.Columns = append(s.Columns, &columnar.Column{Name: kept.Name, Values: kept.Values, Single: kept.Single})
	}
	return s, file.Read(k.index.arrays(s)...)
}

// arrays returns the arrays of a sheet.
func (i *keptIndex) arrays(s *columnar.Sheet) (arrays []mapped.Array) {
	if i.Listed {
		arrays = append(arrays, mapped.Of(&s.Source, i.Rows))
	}
	for k, c := range s.Columns {
		if i.Columns[k].Numbers {
			arrays = append(arrays, mapped.Of(&c.Numbers, i.Rows))
		} else {
			arrays = append(arrays, mapped.Of(&c.Codes, i.Rows))
		}
	}
	return arrays
}

// write keeps the rows of a sheet. The columns then lie in the kept file. If the file cannot be
// written, the table gets a warning, because the run does not need the file.
func (k *keeper) write(s *columnar.Sheet, schema *columnar.Schema, profiles []*columnar.Profile) {
	if k == nil {
		return
	}
	index := keptIndex{Profiles: profiles, Schema: schemaKey(schema), Rows: s.Rows, Listed: s.Source != nil}
	for _, c := range s.Columns {
		if !utf8.ValidString(c.Name) || slices.ContainsFunc(c.Values, func(v string) bool { return !utf8.ValidString(v) }) {
			k.NotKept(fmt.Errorf("the column %q has a text that is not in UTF-8", c.Name)) // JSON would change it
			return
		}
		index.Columns = append(index.Columns, keptColumn{Name: c.Name, Values: c.Values, Numbers: c.Codes == nil, Single: c.Single})
	}
	k.Write(index, index.arrays(s)...)
}
