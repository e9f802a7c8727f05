package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v3"

	"ppal/internal/disk"
	"ppal/internal/rundir"
	"ppal/trainer/session/results"
)

// File holds the settings of a YAML file, not yet resolved.
type File struct {
	Path   string
	values map[string]fileValue
	data   []results.DataFile
	init   *results.DataFile
}

// Data returns the files that the run read, if the file is a run's config.yaml.
func (f *File) Data() []results.DataFile { return f.data }

// Init returns the file of initial weights that the run read, if the file is a run's config.yaml
// and the run had initial weights; otherwise nil.
func (f *File) Init() *results.DataFile { return f.init }

// Value returns the text of a setting in the form of a flag's value, or "" if the file lacks the
// setting. The File may be nil.
func (f *File) Value(name string) string {
	if f == nil {
		return ""
	}
	return f.values[name].text
}

type fileValue struct {
	text string
	line int
}

// ReadFile reads a YAML file. The error for an unknown key, a key given twice or a value of the
// wrong form is an *Error with the file's line. The error for an unreadable file wraps its fs
// error.
func ReadFile(path string) (*File, error) {
	data, err := ReadText(path)
	if err != nil {
		return nil, Missing("--config %s: %w; name a YAML file with keys as in `ppal train --help`", path, err)
	}
	return ParseFile(path, data)
}

// maxText is the largest size of a file of settings, in bytes: 16 MiB.
const maxText = 16 << 20

// ReadText reads a file of settings, of at most 16 MiB: a file of data given by mistake would fill
// the memory. The errors are those of disk.ReadUpTo.
func ReadText(path string) ([]byte, error) {
	return disk.ReadUpTo(path, maxText)
}

// Missing returns the error of a file that a flag names, by a format of the path and of the reason.
// If the file does not exist, the error is ErrUsage, too.
func Missing(format, path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	text := fmt.Errorf(format, path, err)
	if errors.Is(err, fs.ErrNotExist) {
		return notThere{text}
	}
	return text
}

// notThere is the error of a file that does not exist.
type notThere struct{ error }

func (e notThere) Unwrap() error { return e.error }

// Is reports whether target is ErrUsage.
func (e notThere) Is(target error) bool { return target == ErrUsage }

// ParseFile parses the contents of a settings file. path is the name of the file in errors.
func ParseFile(path string, data []byte) (*File, error) {
	f := &File{Path: path, values: map[string]fileValue{}}
	top, err := onlyDocument(path, data)
	if err != nil {
		return nil, err
	}
	if top == nil {
		return f, nil
	}
	known := map[string]*Key{} // by name
	for _, k := range Keys() {
		known[k.Name] = k
	}
	if top.Kind != yaml.MappingNode {
		return nil, &Error{Where: fmt.Sprintf("%s:%d:", path, top.Line), Problem: "use lines of the form key: value"}
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		name, value := top.Content[i], top.Content[i+1]
		where := fmt.Sprintf("%s:%d: %s", path, name.Line, name.Value)
		switch name.Value {
		case rundir.ProvenanceKey:
			var provenance struct {
				Data []results.DataFile `yaml:"data"`
				Init *results.DataFile  `yaml:"init"`
			}
			if value.Decode(&provenance) == nil { // a file that a person wrote may hold anything there
				f.data, f.init = provenance.Data, provenance.Init
			}
			continue
		case rundir.ProgramKey:
			parts, err := scalarText(value, nil)
			if err != nil {
				return nil, &Error{Where: where + ":", Problem: err.Error()}
			}
			return nil, &Error{Where: where + ":", Problem: "no flag expresses " + strings.ReplaceAll(parts, ",", ", ") + " of this run; start the program that wrote the file"}
		}
		key := known[name.Value]
		if key == nil {
			return nil, &Error{Where: fmt.Sprintf("%s:%d:", path, name.Line), Problem: unknown(name.Value, "") + " (the keys are the flags of ppal train --help-all)"}
		}
		if before, twice := f.values[name.Value]; twice {
			return nil, &Error{Where: where + ":", Problem: fmt.Sprintf("already given in line %d", before.line)}
		}
		text, err := scalarText(value, key)
		if err != nil {
			return nil, &Error{Where: where + ":", Problem: err.Error()}
		}
		f.values[name.Value] = fileValue{text, name.Line}
	}
	return f, nil
}

// onlyDocument returns the value of the file's only document, or nil for an empty file.
func onlyDocument(path string, data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		switch err = decoder.Decode(&second); {
		case errors.Is(err, io.EOF):
			return document.Content[0], nil
		case err == nil:
			return nil, &Error{Where: fmt.Sprintf("%s:%d:", path, second.Line), Problem: "a second document begins; use one document, without a line --- between its keys"}
		}
	}
	return nil, &Error{Where: path + ":", Problem: "not YAML: " + oneLine(strings.TrimPrefix(err.Error(), "yaml: "))}
}

// scalarText returns a node's value in the form of a value of the flag; nil: any flag.
func scalarText(n *yaml.Node, flag *Key) (string, error) {
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return "", errors.New("no value")
	case n.Kind == yaml.ScalarNode:
		return n.Value, nil
	case n.Kind == yaml.SequenceNode:
		var items []string
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return "", errors.New("a nested list; use plain values")
			}
			items = append(items, item.Value)
		}
		if flag == nil {
			return strings.Join(items, ","), nil
		}
		return flag.Join(items), nil
	}
	kind := "a mapping"
	if n.Kind == yaml.AliasNode {
		kind = "an alias"
	}
	return "", fmt.Errorf("%s; use one value or a list", kind)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
