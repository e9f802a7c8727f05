package study

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// MergeComparisons copies the finished runs of the comparisons in the folders dirs, which differ by
// their seeds only, into the folder into, and writes the results of all runs there. The folder is
// new, or holds a comparison of this kind, to which the runs are added. The error wraps
// ErrComparison if the comparisons differ otherwise, if their searches have chosen different
// settings, or if no run has finished.
func MergeComparisons(ctx context.Context, dirs []string, into string, measures []string) (o *Compared, err error) {
	var s *Comparison
	for i, dir := range dirs {
		d, err := (&comparisonFolder{dir}).describe()
		if err != nil {
			return nil, err
		}
		own, err := d.comparison()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			s = own
			continue
		}
		content, err := own.content()
		if err != nil {
			return nil, err
		}
		if err := s.same(content, &comparisonFolder{dir}); err != nil {
			return nil, fmt.Errorf("compare: %s and %s cannot be merged: %w", dirs[0], dir, err)
		}
		for _, seed := range own.Seeds {
			if !slices.Contains(s.Seeds, seed) {
				s.Seeds = append(s.Seeds, seed)
			}
		}
	}
	if err := sameChoice(dirs); err != nil {
		return nil, err
	}
	err = patient(ctx, into, func() error {
		f, err := s.claim(into)
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			if err := f.copyRuns(&comparisonFolder{dir}); err != nil {
				return err
			}
		}
		if o, err = readCompared(into); err != nil {
			return err
		}
		if len(o.Runs) == 0 {
			return fmt.Errorf("compare: %w: no run has finished in %v", ErrComparison, dirs)
		}
		o.Comparison.Measures = measures
		return o.write(into)
	})
	return o, err
}

// sameChoice returns an error if searches have chosen different settings.
func sameChoice(dirs []string) error {
	chosen := func(dir string) (map[string]string, error) {
		all := map[string]string{}
		err := ReadJournal(filepath.Join(dir, searchFile), func(t SearchPoint) error {
			if t.Chosen {
				all[t.Contender] = fmt.Sprint(t.Settings)
			}
			return nil
		})
		return all, err
	}
	first, err := chosen(dirs[0])
	for _, dir := range dirs[1:] {
		other, otherErr := chosen(dir)
		switch {
		case err != nil || otherErr != nil:
			return fmt.Errorf("compare: %w", errors.Join(err, otherErr))
		case !maps.Equal(first, other):
			return fmt.Errorf("compare: %w: the searches in %s and %s have chosen different settings: %v and %v; repeat one with --set", ErrComparison, dirs[0], dir, first, other)
		}
	}
	return err
}

// copyRuns copies the finished runs that f lacks, and the list of a search.
func (f *comparisonFolder) copyRuns(from *comparisonFolder) error {
	marks, err := filepath.Glob(filepath.Join(from.runs(), "*.done"))
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	for _, mark := range marks {
		part := filepath.Base(mark[:len(mark)-len(".done")])
		if _, ok := f.Find(part); ok {
			continue
		}
		run, ok := from.Find(part)
		if !ok {
			return fmt.Errorf("compare: %s: the records are not those that the run wrote: repeat the comparison with --out %s to train it again", from.records(part), from.dir)
		}
		text, err := os.ReadFile(from.records(part))
		if err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		if err := os.WriteFile(f.unfinished(part), text, 0o644); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		if err := f.Add(part, run); err != nil {
			return err
		}
	}
	search, err := os.ReadFile(filepath.Join(from.dir, searchFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("compare: %w", err)
	}
	return os.WriteFile(filepath.Join(f.dir, searchFile), search, 0o644)
}
