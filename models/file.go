package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"ppal/internal/atomicfile"
	"ppal/internal/safetensors"
	"ppal/internal/seal"
)

// ErrFile says that a valid safetensors file holds no model, or a different model than expected.
// Every error about the content of a model file wraps it.
var ErrFile = errors.New("not the expected model file")

// MismatchError says that a file describes a different model than expected. It matches [ErrFile]
// with errors.Is.
type MismatchError struct {
	File, Want Spec // defaults filled in
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
	Key        string // the key in the JSON of a [Spec]
	File, Want any
}

// Differences lists the settings that differ, in the order of [Spec]'s fields.
func (e *MismatchError) Differences() []Difference {
	f, w := e.File, e.Want
	var differ []Difference
	if f.Inputs != w.Inputs {
		differ = append(differ, Difference{"inputs", f.Inputs, w.Inputs})
	}
	if !slices.Equal(f.Hidden, w.Hidden) {
		differ = append(differ, Difference{"hidden", f.Hidden, w.Hidden})
	}
	if f.Outputs != w.Outputs {
		differ = append(differ, Difference{"outputs", f.Outputs, w.Outputs})
	}
	if f.Activation != w.Activation {
		differ = append(differ, Difference{"activation", f.Activation, w.Activation})
	}
	if f.Heads != w.Heads {
		differ = append(differ, Difference{"heads", f.Heads, w.Heads})
	}
	return differ
}

// The keys of a model file's metadata.
const (
	metaFormat        = "format"        // "pt", which PyTorch's tools require
	metaModel         = "model"         // the Spec as JSON
	metaNormalization = "normalization" // the Normalization as JSON, with all digits of its numbers
)

// Model is the content of a model file.
type Model struct {
	Spec    Spec
	Weights Weights // for raw rows

	// Normalization has been folded into Weights: Normalization.Unfold(Spec, Weights) returns the
	// weights as they were trained.
	Normalization Normalization
}

// check returns an error if the fields of m do not fit each other.
func (m Model) check() error {
	if err := m.Weights.Check(m.Spec); err != nil {
		return err
	}
	return m.Normalization.Validate(m.Spec.Inputs)
}

// Save writes the model as a safetensors file. The weights have PyTorch's layout and are rounded to
// dtype (tensor.Float32 or tensor.Float64), so that torch.nn.Linear modules named as in
// [Spec.Parameters] load them. A value that overflows float32 is an error. Equal models give equal
// bytes.
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
	model, err := json.Marshal(m.Spec.WithDefaults())
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
	if err := atomicfile.Write(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("models: save %s: %w", path, err)
	}
	return nil
}

// Load reads a model from a safetensors file that [Save] wrote, or that PyTorch wrote with the
// names of [Spec.Parameters].
//
// want is the expected model; nil accepts the file's own description. A file without a description
// (PyTorch's) needs want and counts as not normalized. Load checks names, shapes and values. An
// error names the tensor, what was found and what was expected. It wraps [ErrFile], [ErrWeights],
// [ErrSpec] or [ErrNormalization], or is a [*safetensors.FormatError].
func Load(r io.Reader, want *Spec) (Model, error) {
	file, err := safetensors.Read(r)
	if err != nil {
		return Model{}, err
	}
	var m Model
	if m.Spec, err = fileSpec(file.Metadata, want); err != nil {
		return Model{}, err
	}
	if text, ok := file.Metadata[metaNormalization]; ok {
		if err := decode(text, &m.Normalization); err != nil {
			return Model{}, fmt.Errorf("models: %w: metadata %q: %w", ErrFile, metaNormalization, err)
		}
	}
	if m.Weights, err = fileWeights(file, m.Spec); err != nil {
		return Model{}, err
	}
	return m, m.check()
}

// LoadFile calls [Load] on a file and adds the path to the error. The file must be a regular file.
// Where a run's model.json or summary.json beside it has the file's checksum, LoadFile compares the
// checksum first; a damaged file, or one of another run, is an error.
func LoadFile(path string, want *Spec) (Model, error) {
	data, err := seal.ReadBeside(path)
	if err != nil {
		return Model{}, fmt.Errorf("models: load: %w", err)
	}
	m, err := Load(bytes.NewReader(data), want)
	if err != nil {
		return Model{}, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// fileSpec returns the file's own description, or want if the file has none.
func fileSpec(metadata map[string]string, want *Spec) (Spec, error) {
	text, ok := metadata[metaModel]
	if !ok {
		if want == nil {
			return Spec{}, fmt.Errorf("models: %w: the metadata have no %q to describe the model", ErrFile, metaModel)
		}
		return want.WithDefaults(), want.Validate()
	}
	var spec Spec
	if err := decode(text, &spec); err != nil {
		return Spec{}, fmt.Errorf("models: %w: metadata %q: %w", ErrFile, metaModel, err)
	}
	if want != nil && !want.Equal(spec) {
		return Spec{}, &MismatchError{File: spec.WithDefaults(), Want: want.WithDefaults()}
	}
	return spec.WithDefaults(), spec.Validate()
}

// fileWeights returns the model's tensors, and an error if a tensor is missing or left over.
func fileWeights(file safetensors.File, spec Spec) (Weights, error) {
	tensors := make(map[string]safetensors.Tensor, len(file.Tensors))
	for _, t := range file.Tensors {
		tensors[t.Name] = t
	}
	var weights Weights
	for p := range spec.parameters() {
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
