package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"ppal/internal/disk"
	"ppal/internal/safetensors"
)

// ErrFile says that a valid safetensors file holds no model, or a different model than expected.
// Every error about the content of a model file wraps it.
var ErrFile = errors.New("not the expected model file")

// MismatchError says that a file describes a different model than expected. It matches [ErrFile]
// with errors.Is.
type MismatchError struct {
	File, Want Architecture // defaults filled in
}

// Error names the settings that differ.
func (e *MismatchError) Error() string {
	var differ []string
	for _, d := range e.Differences() {
		differ = append(differ, fmt.Sprintf("%s %v, expected %v", d.Key, d.File, d.Want))
	}
	return fmt.Sprintf("models: %v: its model has %s", ErrFile, strings.Join(differ, "; "))
}

// Is reports whether target is ErrFile.
func (e *MismatchError) Is(target error) bool { return target == ErrFile }

// Difference is a setting that has one value in the file and another in the expected model.
type Difference struct {
	Key        string // "kind", or the key in the JSON of the [Architecture]
	File, Want any    // nil: the architecture has no such key
}

// Differences lists the settings that differ, in the order of the keys in the JSON of File.
func (e *MismatchError) Differences() []Difference {
	if f, w := e.File.Kind(), e.Want.Kind(); f != w && !(builtIn(f) && builtIn(w)) {
		return []Difference{{"kind", f, w}}
	}
	keys, file := settings(e.File)
	more, want := settings(e.Want)
	for _, key := range more {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	var differ []Difference
	for _, key := range keys {
		if !reflect.DeepEqual(file[key], want[key]) {
			differ = append(differ, Difference{key, file[key], want[key]})
		}
	}
	return differ
}

// settings returns the values of an architecture by their keys in its JSON, and the order of the
// keys.
func settings(a Architecture) (keys []string, values map[string]any) {
	values = map[string]any{}
	dec := json.NewDecoder(bytes.NewReader(description(a)))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil { // the opening brace
		return nil, values
	}
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		var value any
		if err != nil || !ok || dec.Decode(&value) != nil {
			return keys, values
		}
		if value == nil {
			value = []any{} // a list without elements
		}
		keys = append(keys, name)
		values[name] = value
	}
	return keys, values
}

// The keys of a model file's metadata.
const (
	metaFormat        = "format"        // "pt", which PyTorch's tools require
	metaKind          = "kind"          // the kind of the architecture; a Spec has none
	metaModel         = "model"         // the architecture as JSON
	metaNormalization = "normalization" // the Normalization as JSON, with all digits of its numbers
)

// Model is the content of a model file.
type Model struct {
	Architecture Architecture
	Weights      Weights // for raw rows, if the architecture has first layers

	// Normalization has been folded into Weights: Normalization.Unfold(Architecture, Weights)
	// returns the weights as they were trained. In an architecture without first layers it is a layer
	// of its own.
	Normalization Normalization
}

// check returns an error if the fields of m do not fit each other.
func (m Model) check() error {
	if err := m.Weights.Check(m.Architecture); err != nil {
		return err
	}
	inputs, _ := m.Architecture.Dims()
	return m.Normalization.Validate(inputs)
}

// Save writes the model as a safetensors file. The weights have PyTorch's layout and are rounded to
// dtype (tensor.Float32 or tensor.Float64), so that torch.nn modules named as in
// [Architecture.Parameters] load them. A value that overflows float32 is an error. Equal models
// give equal bytes.
func Save(w io.Writer, m Model, dtype tensor.Dtype) error {
	if err := m.check(); err != nil {
		return err
	}
	elements := safetensors.F64
	switch dtype {
	case tensor.Float64:
	case tensor.Float32:
		elements = safetensors.F32
		if err := m.Weights.checkFloat32(); err != nil {
			return err
		}
	default:
		return errDtype("save", dtype)
	}
	a, err := completed(m.Architecture)
	if err != nil {
		return err
	}
	model, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("models: save: %w", err)
	}
	if m.Normalization.Kind == "" {
		m.Normalization.Kind = NormalizeNone
	}
	normalization, err := json.Marshal(m.Normalization)
	if err != nil {
		return fmt.Errorf("models: save: %w", err)
	}
	file := safetensors.File{Metadata: map[string]string{
		metaFormat: "pt", metaModel: string(model), metaNormalization: string(normalization),
	}}
	if !builtIn(a.Kind()) {
		file.Metadata[metaKind] = a.Kind()
	}
	for _, t := range m.Weights {
		file.Tensors = append(file.Tensors, safetensors.New(t.Name, elements, t.Shape, t.Data))
	}
	return safetensors.Write(w, file)
}

// SaveFile writes the model to a new file, which replaces path when it is complete and synced. So
// path never holds an incomplete model.
func SaveFile(path string, m Model, dtype tensor.Dtype) error {
	var b bytes.Buffer
	if err := Save(&b, m, dtype); err != nil {
		return err
	}
	if err := disk.Write(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("models: save %s: %w", path, err)
	}
	return nil
}

// Load reads a model from a safetensors file that [Save] wrote, or that PyTorch wrote with the
// names of [Architecture.Parameters].
//
// want is the expected model; nil accepts the file's own description. A file without a description
// (PyTorch's) needs want and counts as not normalized. Load checks names, shapes and values. An
// error names the tensor, what was found and what was expected. It wraps [ErrFile], [ErrWeights],
// [ErrSpec] or [ErrNormalization], or is a [*safetensors.FormatError].
func Load(r io.Reader, want Architecture) (Model, error) {
	file, err := safetensors.Read(r)
	if err != nil {
		return Model{}, err
	}
	var m Model
	if m.Architecture, err = fileArchitecture(file.Metadata, want); err != nil {
		return Model{}, err
	}
	if text, ok := file.Metadata[metaNormalization]; ok {
		if err := decode(text, &m.Normalization); err != nil {
			return Model{}, fmt.Errorf("models: %w: metadata %q: %w", ErrFile, metaNormalization, err)
		}
	}
	if m.Weights, err = fileWeights(file, m.Architecture); err != nil {
		return Model{}, err
	}
	return m, m.check()
}

// LoadFile calls [Load] on a file and adds the path to the error. The file must be a regular file.
// Where a run's model.json or summary.json beside it has the file's checksum, LoadFile compares the
// checksum first; a damaged file, or one of another run, is an error.
func LoadFile(path string, want Architecture) (Model, error) {
	data, err := disk.ReadBeside(path)
	if err != nil {
		return Model{}, fmt.Errorf("models: load: %w", err)
	}
	m, err := Load(bytes.NewReader(data), want)
	if err != nil {
		return Model{}, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// fileArchitecture returns the file's own description, or want if the file has none.
func fileArchitecture(metadata map[string]string, want Architecture) (Architecture, error) {
	text, ok := metadata[metaModel]
	if !ok {
		if want == nil {
			return nil, fmt.Errorf("models: %w: the metadata have no %q to describe the model", ErrFile, metaModel)
		}
		return completed(want)
	}
	a, err := decodeArchitecture(metadata[metaKind], text)
	if err != nil {
		return nil, fmt.Errorf("models: %w: metadata %q: %w", ErrFile, metaModel, err)
	}
	if want != nil && !Equal(want, a) {
		return nil, &MismatchError{File: a, Want: want}
	}
	return completed(a)
}

// fileWeights returns the model's tensors, and an error if a tensor is missing or left over.
func fileWeights(file safetensors.File, a Architecture) (Weights, error) {
	tensors := make(map[string]safetensors.Tensor, len(file.Tensors))
	for _, t := range file.Tensors {
		tensors[t.Name] = t
	}
	var weights Weights
	for _, p := range a.Parameters() {
		t, ok := tensors[p.Name]
		if !ok {
			return nil, fmt.Errorf("models: %w: tensor %q of shape %v is missing", ErrFile, p.Name, p.Shape)
		}
		delete(tensors, p.Name)
		weights = append(weights, Tensor{Name: t.Name, Shape: t.Shape, Data: t.Float64s()})
	}
	for _, t := range file.Tensors {
		if _, left := tensors[t.Name]; left {
			return nil, fmt.Errorf("models: %w: tensor %q of shape %v does not belong to the model", ErrFile, t.Name, t.Shape)
		}
	}
	return weights, nil
}

// decode decodes one JSON value and refuses unknown fields and trailing text.
func decode(text string, into any) error {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("text follows the JSON value")
	}
	return nil
}
