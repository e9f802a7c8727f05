package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"ppal/trainer/option"
)

// ProvenanceKey is the key of a run's config.yaml that holds the run's provenance. Reading skips
// it, so that a run's file starts the same run again.
const ProvenanceKey = "provenance"

// File holds the settings of a YAML file, not yet resolved.
type File struct {
	Path   string
	values map[string]fileValue
}

type fileValue struct {
	text string
	line int
}

// ReadFile reads a YAML file. The error for an unknown key, a key given twice or a value of the
// wrong form is an *Error with the file's line. The error for an unreadable file wraps its fs
// error.
func ReadFile(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("--config %s: %w; name a YAML file with keys as in `ppal train --help`", path, err)
	}
	return parseFile(path, data)
}

func parseFile(path string, data []byte) (*File, error) {
	f := &File{Path: path, values: map[string]fileValue{}}
	top, err := onlyDocument(path, data)
	if err != nil {
		return nil, err
	}
	if top == nil {
		return f, nil
	}
	known := map[string]bool{}
	for _, k := range Keys() {
		known[k.Name] = true
	}
	if top.Kind != yaml.MappingNode {
		return nil, &Error{fmt.Sprintf("%s:%d:", path, top.Line), "use lines of the form key: value"}
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		name, value := top.Content[i], top.Content[i+1]
		where := fmt.Sprintf("%s:%d: %s", path, name.Line, name.Value)
		if name.Value == ProvenanceKey {
			continue
		}
		if !known[name.Value] {
			return nil, &Error{fmt.Sprintf("%s:%d:", path, name.Line), unknown(name.Value, "") + " (the keys are the flags of ppal train --help-all)"}
		}
		if before, twice := f.values[name.Value]; twice {
			return nil, &Error{where + ":", fmt.Sprintf("already given in line %d", before.line)}
		}
		text, err := scalarText(value)
		if err != nil {
			return nil, &Error{where + ":", err.Error()}
		}
		f.values[name.Value] = fileValue{text, name.Line}
	}
	return f, nil
}

// onlyDocument returns the value of the file's only document, nil for an empty file.
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
			return nil, &Error{fmt.Sprintf("%s:%d:", path, second.Line), "a second document begins; use one document, without a line --- between its keys"}
		}
	}
	return nil, &Error{path + ":", "not YAML: " + oneLine(strings.TrimPrefix(err.Error(), "yaml: "))}
}

// scalarText returns a node's value as a flag would give it. Commas join the items of a list.
func scalarText(n *yaml.Node) (string, error) {
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
		return strings.Join(items, ","), nil
	}
	kind := "a mapping"
	if n.Kind == yaml.AliasNode {
		kind = "an alias"
	}
	return "", fmt.Errorf("%s; use one value or a list", kind)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// YAML writes the configuration: every setting that applies, in the order of the help, with a note
// beside each value that the paper does not give. provenance, unless nil, stands at the end. out is
// omitted: it is the directory of the file.
func (t Train) YAML(provenance any) ([]byte, error) {
	notes := map[string]string{}
	for _, n := range t.Notes() {
		notes[n.Key] = n.Text
	}
	top := &yaml.Node{Kind: yaml.MappingNode}
	group := ""
	settings := t.bind()
	for _, k := range Keys() {
		text := settings.lookup(k.Name)
		if k.Name == "out" || text == "" {
			continue
		}
		name := &yaml.Node{Kind: yaml.ScalarNode, Value: k.Name}
		if k.Group != group {
			group, name.HeadComment = k.Group, k.Group
		}
		value := k.node(text)
		value.LineComment = notes[k.Name]
		top.Content = append(top.Content, name, value)
	}
	if provenance != nil {
		var value yaml.Node
		if err := value.Encode(provenance); err != nil {
			return nil, fmt.Errorf("config: provenance: %w", err)
		}
		name := &yaml.Node{Kind: yaml.ScalarNode, Value: ProvenanceKey, HeadComment: "Where the run came from; not read back"}
		top.Content = append(top.Content, name, &value)
	}
	data, err := yaml.Marshal(top)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return data, nil
}

// node is a value in YAML.
func (k *Key) node(text string) *yaml.Node {
	switch {
	case k.Several():
		list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, item := range option.Split(text) {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: item})
		}
		return list
	case k.Free(): // a path: a string even where it looks like a number
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
}
