package loader

import (
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/recordio"
)

// learnShared does the work of learn in several processes, each of which reads a part of the
// file. An error in one process is ErrAlone in all of them.
func (t *UserTable) learnShared(text *recordio.Delimited, s tabular.Share, size int64) error {
	if err := columnar.Vote(s, t.learn(columnar.OwnChunks(text.Next, s, size), text)); err != nil {
		return err
	}
	own := make([]columnar.SentProfile, len(t.Columns))
	for i, c := range t.Columns {
		own[i] = c.Profile.Send()
	}
	all, err := columnar.GatherValues(s, own)
	if err != nil {
		return err
	}
	for i, c := range t.Columns {
		c.Profile.Reset()
		for _, sent := range all {
			c.Profile.Join(sent[i].Profile(c.Profile.OnlyCategories))
		}
	}
	return nil
}
