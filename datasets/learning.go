package datasets

// learnTogether is learn for processes that read a part of the file each. An error of any of them
// is errAlone in all.
func (t *ownTable) learnTogether(text *delimited, s Share, size int64) error {
	if err := vote(s, t.learn(ownChunks(text.next, s, size), text)); err != nil {
		return err
	}
	own := make([]sentProfile, len(t.columns))
	for i, c := range t.columns {
		own[i] = c.profile.send()
	}
	all, err := gatherValues(s, own)
	if err != nil {
		return err
	}
	for i, c := range t.columns {
		c.profile.reset()
		for _, of := range all {
			c.profile.join(of[i].profile(c.profile.onlyCategories))
		}
	}
	return nil
}
