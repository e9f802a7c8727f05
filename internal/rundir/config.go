package rundir

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"ppal/internal/option"
)

// The keys of config.yaml beside the settings.
const (
	// ProvenanceKey holds the run's provenance. A program that repeats the run skips the key.
	ProvenanceKey = "provenance"
	// ProgramKey lists the parts of a library's run that no setting expresses. Only the program that
	// wrote the file can repeat such a run.
	ProgramKey = "only-in-program"
)

// Setting is a line of config.yaml.
type Setting struct {
	Name string
	// Value is the setting's text, as a flag takes the text: a string; a Text; or a []string, the
	// items of a list.
	Value any
	Group string // the heading of the setting and of the settings behind it; "" continues the group
	Note  string // a remark behind the value, or ""
}

// SettingOf returns an option's setting with the text as its value.
func SettingOf(o *option.Option, text string) Setting {
	s := Setting{Name: o.Name, Value: text}
	switch {
	case o.Several():
		s.Value = o.Items(text)
	case o.Free(): // a path stays a string even if the text looks like a number
		s.Value = Text(text)
	}
	return s
}

// Text is a value that YAML keeps as text even if the text looks like a number: a path.
type Text string

// ConfigFile returns the contents of config.yaml. A provenance that is not nil follows at the end.
func ConfigFile(settings []Setting, provenance any) ([]byte, error) {
	top := &yaml.Node{Kind: yaml.MappingNode}
	group := ""
	for _, s := range settings {
		name := &yaml.Node{Kind: yaml.ScalarNode, Value: s.Name}
		if s.Group != "" && s.Group != group {
			group, name.HeadComment = s.Group, s.Group
		}
		value, err := node(s.Value)
		if err != nil {
			return nil, fmt.Errorf("rundir: config.yaml: %s: %w", s.Name, err)
		}
		value.LineComment = s.Note
		top.Content = append(top.Content, name, value)
	}
	if provenance != nil {
		var value yaml.Node
		if err := value.Encode(provenance); err != nil {
			return nil, fmt.Errorf("rundir: config.yaml: %s: %w", ProvenanceKey, err)
		}
		name := &yaml.Node{Kind: yaml.ScalarNode, Value: ProvenanceKey, HeadComment: "Where the run came from; not read back"}
		top.Content = append(top.Content, name, &value)
	}
	data, err := yaml.Marshal(top)
	if err != nil {
		return nil, fmt.Errorf("rundir: config.yaml: %w", err)
	}
	return data, nil
}

// node returns a setting's value in YAML.
func node(value any) (*yaml.Node, error) {
	switch v := value.(type) {
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v}, nil
	case Text:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(v)}, nil
	case []string:
		list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, item := range v {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: item})
		}
		return list, nil
	}
	return nil, fmt.Errorf("a value of type %T", value)
}
