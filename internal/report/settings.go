package report

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"ppal/internal/rundir"
)

// settingGroup is a headed part of config.yaml.
type settingGroup struct {
	Name     string
	Settings []setting
}

// setting is a line of config.yaml.
type setting struct{ Name, Value, Note string }

// settingsOf returns the settings in the text of config.yaml in their groups. own lists the parts
// of the run that no setting expresses.
func settingsOf(path string, data []byte) (groups []settingGroup, own []string, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, nil, fmt.Errorf("report: %s: %w", path, err)
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, nil, nil
	}
	top := document.Content[0].Content
	for i := 0; i+1 < len(top); i += 2 {
		name, value := top[i], top[i+1]
		switch name.Value {
		case rundir.ProvenanceKey:
			continue
		case rundir.ProgramKey:
			own = texts(value)
			continue
		}
		if head := comment(name.HeadComment); head != "" || groups == nil {
			groups = append(groups, settingGroup{Name: head})
		}
		g := &groups[len(groups)-1]
		g.Settings = append(g.Settings, setting{name.Value, strings.Join(texts(value), "\n"), comment(value.LineComment)})
	}
	return groups, own, nil
}

// comment returns the text of a comment.
func comment(text string) string { return strings.TrimSpace(strings.TrimLeft(text, "# ")) }

// texts returns the values of a scalar or of a list of scalars.
func texts(n *yaml.Node) (list []string) {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	for _, item := range n.Content {
		list = append(list, item.Value)
	}
	return list
}
