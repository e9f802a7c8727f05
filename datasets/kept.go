package datasets

import (
	"fmt"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"ppal/internal/paged"
)

// keptVersion changes when the same table and options give other values.
const keptVersion = 3

// keptIndex describes the values in a kept file.
type keptIndex struct {
	Profiles []sentProfile
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
	*paged.Keeper
	table *ownTable
	index *keptIndex
	file  *paged.Kept // nil: none is usable
}

// keeper returns a keeper of rows of the file that are determined by a key, or nil if the rows are
// not kept: for pipes and for tables in memory.
func (o *TableOptions) keeper(key func(path string) any) *paged.Keeper {
	if o.Keep == nil {
		return nil
	}
	path, err := filepath.Abs(o.File)
	if err != nil {
		return nil
	}
	return o.Pages.NewKeeper(o.Keep.Folder, o.File, []string{o.File}, key(path), o.Keep.SHA256)
}

// keeper returns the keeper of the table's rows, or nil if the rows are not kept.
func (t *ownTable) keeper() *keeper {
	base := t.opts.keeper(t.key)
	if base == nil {
		return nil
	}
	base.Note = func(text string) { t.notes = append(t.notes, text) }
	base.Warn = func(text string) { t.warnings = append(t.warnings, text) }
	return &keeper{Keeper: base, table: t}
}

// key describes everything that determines the values of the columns.
func (t *ownTable) key(path string) any {
	type column struct {
		Name                                    string
		Field                                   int
		Feature, Label, Split, Categories, Only bool
	}
	key := struct {
		Version                       int
		Path                          string
		Layout                        Layout
		Absent                        []string
		Missing, Dates, Decimal, When string
		Columns                       []column
	}{keptVersion, path, t.layout(), t.opts.absent(), t.opts.Missing, t.opts.Dates, t.opts.Decimal, "", nil}
	if t.when != nil {
		key.When = t.when.text
	}
	for _, c := range t.columns {
		key.Columns = append(key.Columns, column{c.name, c.field, c.feature, c.label, c.split, c.categorical, c.profile.onlyCategories})
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
	if k == nil || k.file == nil || len(k.index.Profiles) != len(k.table.columns) {
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
		text += fmt.Sprintf(";%q %q %t %t %t %t", c.name, c.from, c.numeric, c.unknown, c.missing, c.many)
	}
	return text
}

// sheet returns the kept rows of a schema, or nil if there are none.
func (k *keeper) sheet(wanted *schema) *sheet {
	if k == nil || k.file == nil || k.index.Schema != schemaKey(wanted) {
		return nil
	}
	s, err := k.read()
	if err != nil {
		k.Unusable(err)
		return nil
	}
	for i := range wanted.columns {
		s.column(wanted.columns[i].name).decimal = wanted.columns[i].decimal
	}
	k.Used()
	return s
}

// read returns the rows in the kept file.
func (k *keeper) read() (*sheet, error) {
	s := &sheet{name: k.table.opts.File, rows: k.index.Rows, pages: k.table.opts.Pages}
	var err error
	if k.index.Listed {
		if s.source, err = paged.Next[int](k.file, s.rows); err != nil {
			return nil, err
		}
	}
	for _, kept := range k.index.Columns {
		c := &column{name: kept.Name, values: kept.Values, single: kept.Single}
		if kept.Numbers {
			c.numbers, err = paged.Next[float64](k.file, s.rows)
		} else {
			c.codes, err = paged.Next[int32](k.file, s.rows)
		}
		if err != nil {
			return nil, err
		}
		s.columns = append(s.columns, c)
	}
	return s, nil
}

// write keeps the rows of a sheet. The columns then lie in the kept file. If the file cannot be
// written, the table gets a warning, because the run does not need the file.
func (k *keeper) write(s *sheet, of *schema, profiles []sentProfile) {
	if k == nil {
		return
	}
	index, arrays := keptIndex{Profiles: profiles, Schema: schemaKey(of), Rows: s.rows, Listed: s.source != nil}, []paged.Array(nil)
	if index.Listed {
		arrays = append(arrays, paged.Of(&s.source))
	}
	for _, c := range s.columns {
		if !utf8.ValidString(c.name) || slices.ContainsFunc(c.values, func(v string) bool { return !utf8.ValidString(v) }) {
			k.NotKept(fmt.Errorf("the column %q has a text that is not in UTF-8", c.name)) // JSON would change it
			return
		}
		index.Columns = append(index.Columns, keptColumn{Name: c.name, Values: c.values, Numbers: c.codes == nil, Single: c.single})
		if c.codes == nil {
			arrays = append(arrays, paged.Of(&c.numbers))
		} else {
			arrays = append(arrays, paged.Of(&c.codes))
		}
	}
	k.Write(index, arrays...)
}
