package study

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"ppal/internal/config"
	methods "ppal/trainer/method"
)

// ReadGrid reads the grids of a search from a file. The file has, for each contender, keys with
// lists of values,
//
//	gdpa:
//	  step: [1e-3, 1e-2]     # or gdpa-step
//	  penalty: [0.1, 1]
//
// ReadGrid returns the points of each contender: every combination, with the values of the last key
// varying fastest. It refuses keys that change the problem (config.Key.WhyShared). Errors name the
// file and the line.
func ReadGrid(path string) (map[string][]config.Values, error) {
	data, err := config.ReadText(path)
	if err != nil {
		return nil, config.Missing("--tune %s: %w; name a YAML file with lines of the form method: {key: [values]}", path, err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("compare: %s: %w: %v", path, ErrComparison, err)
	}
	grids := map[string][]config.Values{}
	top := &yaml.Node{Line: 1} // of an empty file
	if len(document.Content) > 0 {
		top = document.Content[0]
	}
	if top.Kind != yaml.MappingNode || len(top.Content) == 0 {
		return nil, gridError(path, top, "want lines of the form method: {key: [values]}")
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		name, keys := top.Content[i], top.Content[i+1]
		if keys.Kind != yaml.MappingNode || len(keys.Content) == 0 {
			return nil, gridError(path, keys, "want keys with lists of values for %s", name.Value)
		}
		if grids[name.Value] != nil {
			return nil, gridError(path, name, "%s is given twice", name.Value)
		}
		points := []config.Values{{}}
		for k := 0; k+1 < len(keys.Content); k += 2 {
			if points, err = cross(path, name.Value, points, keys.Content[k], keys.Content[k+1]); err != nil {
				return nil, err
			}
		}
		grids[name.Value] = points
	}
	return grids, nil
}

func gridError(path string, at *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("compare: %s:%d: %w: %s", path, at.Line, ErrComparison, fmt.Sprintf(format, args...))
}

// maxPoints is the largest number of points of a grid. Each point is a run.
const maxPoints = 10_000

// cross gives every point each of the key's values.
func cross(path, method string, points []config.Values, key, list *yaml.Node) ([]config.Values, error) {
	items := list.Content
	if list.Kind == yaml.ScalarNode {
		items = []*yaml.Node{list}
	}
	if len(items) == 0 {
		return nil, gridError(path, key, "%s has no values", key.Value)
	}
	found := config.Find(method, key.Value)
	if found == nil && !slices.Contains(methods.Names(), method) {
		return nil, gridError(path, key, "%s: %s", method, config.UnknownMethod(method))
	}
	if found == nil {
		return nil, gridError(path, key, "unknown setting %s (see ppal methods %s)", key.Value, method)
	}
	if why := found.WhyShared(); why != "" {
		return nil, gridError(path, key, "%s %s", key.Value, why)
	}
	if len(points)*len(items) > maxPoints {
		return nil, gridError(path, key, "the grid of %s has more than %d points", method, maxPoints)
	}
	var crossed []config.Values
	for _, p := range points {
		for _, item := range items {
			if item.Kind != yaml.ScalarNode {
				return nil, gridError(path, item, "%s: want plain values", key.Value)
			}
			next := config.Values{found.Name: item.Value}
			maps.Copy(next, p)
			crossed = append(crossed, next)
		}
	}
	return crossed, nil
}
