package datasets

import (
	"context"
	"path/filepath"

	"ppal/datasets/tabular"
	"ppal/internal/loader"
	"ppal/internal/recordio"
)

// rankingTable returns the function that reads a fold of a published ranking. files returns the
// paths in the data directory of the training, validation and test files of a fold.
func rankingTable(d loader.Ranking, columns int, files func(fold int) [3][]string) func(context.Context, string, tabular.TableOptions) (*loader.Source, error) {
	return func(_ context.Context, dir string, o tabular.TableOptions) (*loader.Source, error) {
		var list []*loader.RankingFile
		for part, paths := range files(max(1, o.Fold)) {
			for _, path := range paths {
				list = append(list, &loader.RankingFile{Name: path, Part: int8(part)})
			}
		}
		failures := make([]error, len(list))
		recordio.InParallel(len(list), func(i int) {
			path := list[i].Name
			if f, err := loader.ReadRanking(filepath.Join(dir, filepath.FromSlash(path)), columns, list[i].Part); err == nil {
				f.Name, list[i] = path, f
			} else {
				failures[i] = err
			}
		})
		for _, err := range failures {
			if err != nil {
				return nil, err
			}
		}
		return d.Table(list, o)
	}
}
