package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// Write writes the file. As in the reference implementation, the tensors are sorted by element
// type, larger types first, and then by name, so that all of them are aligned. Write refuses what
// [Read] refuses: a name that is reserved, not UTF-8 or duplicate, an element type that is not
// supported, and data that do not fill the shape.
func Write(w io.Writer, f File) error { return write(w, f, maxHeader) }

// write writes the file if its header has at most the given number of bytes.
func write(w io.Writer, f File, most int) error {
	tensors := slices.Clone(f.Tensors)
	slices.SortFunc(tensors, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(b.Dtype.Size(), a.Dtype.Size()), cmp.Compare(a.Name, b.Name))
	})
	header, err := marshalHeader(f.Metadata, tensors)
	if err != nil {
		return err
	}
	if len(header) > most {
		return fmt.Errorf("safetensors: write: the header has %d bytes, at most %d are allowed", len(header), most)
	}
	prefix := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	if _, err := w.Write(append(prefix, header...)); err != nil {
		return fmt.Errorf("safetensors: write: %w", err)
	}
	for _, t := range tensors {
		if _, err := w.Write(t.Data); err != nil {
			return fmt.Errorf("safetensors: write tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

// marshalHeader returns the padded JSON header for tensors in the given order.
func marshalHeader(metadata map[string]string, tensors []Tensor) ([]byte, error) {
	type info struct {
		Dtype   Dtype    `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	var buf bytes.Buffer
	member := func(key string, value any) error {
		separator := byte(',')
		if buf.Len() == 0 {
			separator = '{'
		}
		buf.WriteByte(separator)
		if err := encode(&buf, key); err != nil {
			return err
		}
		buf.WriteByte(':')
		return encode(&buf, value)
	}
	if len(metadata) > 0 {
		for key, value := range metadata {
			if !utf8.ValidString(key) || !utf8.ValidString(value) {
				return nil, fmt.Errorf("safetensors: write: metadata %q is not UTF-8", key)
			}
		}
		if err := member(metadataKey, metadata); err != nil {
			return nil, err
		}
	}
	var end int64
	names := map[string]bool{}
	for _, t := range tensors {
		if err := t.check(); err != nil {
			return nil, err
		}
		if names[t.Name] {
			return nil, fmt.Errorf("safetensors: write: two tensors are named %q", t.Name)
		}
		names[t.Name] = true
		begin := end
		end += int64(len(t.Data))
		if err := member(t.Name, info{t.Dtype, append([]int{}, t.Shape...), [2]int64{begin, end}}); err != nil {
			return nil, err
		}
	}
	if buf.Len() == 0 {
		buf.WriteByte('{')
	}
	buf.WriteByte('}')
	for buf.Len()%8 != 0 {
		buf.WriteByte(' ')
	}
	return buf.Bytes(), nil
}

// encode writes value as JSON without the line feed and without escapes for HTML, as the reference
// implementation does.
func encode(buf *bytes.Buffer, value any) error {
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("safetensors: write: %w", err)
	}
	buf.Truncate(buf.Len() - 1)
	return nil
}

// check returns an error if t cannot be written.
func (t Tensor) check() error {
	if t.Name == metadataKey || !utf8.ValidString(t.Name) {
		return fmt.Errorf("safetensors: write: %q cannot name a tensor", t.Name)
	}
	if t.Dtype.Size() == 0 {
		return fmt.Errorf("safetensors: write: tensor %q: %w: %q", t.Name, errDtype, t.Dtype)
	}
	size, ok := byteSize(t.Dtype, t.Shape)
	if !ok || size != int64(len(t.Data)) {
		return fmt.Errorf("safetensors: write: tensor %q: %w: %d bytes for shape %v of %s",
			t.Name, errLayout, len(t.Data), t.Shape, t.Dtype)
	}
	return nil
}
