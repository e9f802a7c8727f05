package datatest

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// Column is a column of a Parquet file.
type Column struct {
	Name   string
	Node   parquet.Node
	Values []any // one for each row: a Go value, a parquet.Value, or nil for null
}

// Numbers returns a column of float64.
func Numbers(name string, values ...float64) Column {
	return column(name, parquet.Leaf(parquet.DoubleType), values)
}

// Texts returns a column of texts.
func Texts(name string, values ...string) Column { return column(name, parquet.String(), values) }

func column[T any](name string, node parquet.Node, values []T) Column {
	c := Column{Name: name, Node: node}
	for _, v := range values {
		c.Values = append(c.Values, v)
	}
	return c
}

// ParquetOf returns a file with the columns, in their order, the same in each of the row groups.
func ParquetOf(t testing.TB, groups int, columns []Column, options ...parquet.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[any](&out, append(options, parquet.NewSchema("schema", root{columns: columns}))...)
	for range groups {
		var rows []parquet.Row
		for i := range columns[0].Values {
			rows = append(rows, row(columns, i))
		}
		if _, err := w.WriteRows(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// row returns row i of the columns.
func row(columns []Column, i int) (row parquet.Row) {
	for k, c := range columns {
		level := 0 // of the definition
		if c.Values[i] != nil && !c.Node.Required() {
			level = 1
		}
		v, ok := c.Values[i].(parquet.Value)
		if !ok {
			v = parquet.ValueOf(c.Values[i])
		}
		row = append(row, v.Level(0, level, k))
	}
	return row
}

// root is a schema with columns in any order, and with any names.
type root struct {
	parquet.Group
	columns []Column
}

// Fields implements parquet.Node.
func (r root) Fields() (fields []parquet.Field) {
	for _, c := range r.columns {
		fields = append(fields, field{c.Node, c.Name})
	}
	return fields
}

type field struct {
	parquet.Node
	name string
}

// Name implements parquet.Field.
func (f field) Name() string { return f.name }

// Value implements parquet.Field.
func (f field) Value(base reflect.Value) reflect.Value { return base }
