package session

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"ppal/internal/checkpoint"
	"ppal/internal/dirlock"
	"ppal/internal/rundir"
	"ppal/trainer/certify"
)

// ErrResume marks a run that Resume refuses. The text has the reason.
var ErrResume = errors.New("cannot resume")

// Resume opens the directory of a run that was interrupted or killed. A session calls Resume
// instead of Open. Optimize then continues from the checkpoint to the same bits as a run without an
// interruption. Without a checkpoint, Optimize begins at the first iteration. Resume removes the
// records after the checkpoint. The session must have the options of the run. Another number
// of threads gives the same bits. With another device or other kernels, the result differs by
// rounding errors.
//
// The notes say where the run continues, and what differs. The error wraps ErrResume if the
// checkpoint is damaged or belongs to another version, to other settings or to other data,
// dirlock.ErrHeld if another process runs in the directory, or comes from the file system.
func (s *Session) Resume(dir string) (notes []string, err error) { return s.resume(dir, nil) }

// resume is Resume, or Extend from the limit of iterations *extends.
func (s *Session) resume(dir string, extends *int) (notes []string, err error) {
	if s.files != nil {
		return nil, fmt.Errorf("session: the directory %s is open already", s.files.dir)
	}
	s.files = &files{dir: rundir.Dir(dir)}
	if s.files.lock, err = dirlock.Take(dir); err == nil {
		notes, err = s.goOn(extends)
	}
	if err != nil {
		err = with(err, s.files.close())
		s.files = nil
		return nil, err
	}
	return notes, nil
}

// goOn reads and checks the files of the locked directory.
func (s *Session) goOn(extends *int) (notes []string, err error) {
	f := s.files
	before, sum, err := f.dir.ReadProvenance()
	if err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) ([]string, error) {
		return nil, fmt.Errorf("session: %w %s: "+format, slices.Concat([]any{ErrResume, f.dir}, args)...)
	}
	now := s.Describe()
	if name := changedData(before.Data, now.Data); name != "" {
		return refuse("%s is not the file that the run read: restore the file, or start a new run", name)
	}
	if !sameInit(before.Init, now.Init) {
		return refuse("%s is not the file of initial weights that the run read: restore the file, or start a new run", s.options.Init)
	}
	c, err := checkpoint.Read(string(f.dir))
	fresh := errors.Is(err, checkpoint.ErrNone)
	switch {
	case fresh && extends != nil:
		return refuse("the run has no checkpoint at its end: start a new run with --config and --init")
	case fresh && before.Version != now.Version:
		return refuse("the version %s of ppal wrote the run, and this is %s: use that version, or start a new run", before.Version, now.Version)
	case fresh:
		c, err = &checkpoint.Checkpoint{Config: sum}, nil
		notes = append(notes, fmt.Sprintf("%s has no checkpoint: the run begins at the first iteration", f.dir))
	case errors.Is(err, checkpoint.ErrVersion):
		return refuse("%w: use the version %s of ppal, which wrote the run, or start a new run with --config", err, before.Version)
	case errors.Is(err, checkpoint.ErrDamaged):
		return refuse("%w: start a new run with --config", err)
	case err != nil:
		return nil, err
	case c.Program != now.Version:
		return refuse("the version %s of ppal wrote the checkpoint, and this is %s: use that version, or start a new run", c.Program, now.Version)
	case c.Config != sum && (before.Extended == nil || c.Config != before.Extended.Config):
		return refuse("config.yaml has changed since the checkpoint: restore the file, or start a new run with --config")
	default:
		note := fmt.Sprintf("the run continues after %d iterations", c.At.Iteration)
		if c.Damaged {
			note += ", from checkpoint.previous, because the last checkpoint is damaged or missing"
		}
		notes = append(notes, note)
		f.resumed = c
	}
	f.config, f.extended = sum, before.Extended
	if withoutThreads(before.Device) != withoutThreads(now.Device) {
		other := fmt.Sprintf("The run began on %s and continued after %d iterations on %s: the result may differ by rounding errors.",
			before.Device, c.At.Iteration, now.Device)
		s.options.Files.Notes = append(slices.Clip(s.options.Files.Notes), other)
		notes = append(notes, other)
	}
	if f.metrics, err = f.dir.ResumeMetrics(c.Records.Bytes, c.Records.SHA256); err != nil {
		if errors.Is(err, rundir.ErrRecords) {
			return refuse("%w", err)
		}
		return nil, err
	}
	if extends != nil {
		if err := s.beginExtension(c, *extends); err != nil {
			return nil, err
		}
	} else if f.extended != nil {
		if err := s.goOnFrom(f.extended.Iterations); err != nil {
			return nil, err
		}
	}
	if f.extended != nil {
		s.options.Files.Notes = concat(s.options.Files.Notes, f.extended.Notes)
		notes = append(notes, f.extended.Notes...)
	}
	if err := f.metrics.Cut(); err != nil {
		return nil, err
	}
	if !fresh {
		s.warnings, s.spent = c.Warnings, s.spent+c.Spent
	}
	if err := s.restoreLast(); err != nil {
		return nil, err
	}
	return notes, s.resumeEvents()
}

// threadsOf matches the number of threads in the description of a device. The number does not
// change results.
var threadsOf = regexp.MustCompile(`\b\d+ threads, `)

func withoutThreads(device string) string { return threadsOf.ReplaceAllString(device, "") }

// restoreLast sets the last record, for the summary of a run that fails before its next record.
func (s *Session) restoreLast() error {
	records, err := rundir.ReadMetrics(s.files.dir.Metrics())
	if err != nil || len(records) == 0 {
		return err
	}
	r := records[len(records)-1]
	r.Certificate = certify.Certificate{Stationarity: r.Stationarity, Infeasibility: r.Infeasibility, Complementarity: r.Complementarity,
		Epsilon: max(r.Stationarity, r.Infeasibility, r.Complementarity)}
	s.last = &r
	return nil
}

// changedData returns the name of the first data file that differs between two runs; "" if the data
// are equal.
func changedData(before, now []DataFile) string {
	for i := range max(len(before), len(now)) {
		switch {
		case i >= len(now):
			return before[i].Name
		case i >= len(before) || before[i].Name != now[i].Name || before[i].Bytes != now[i].Bytes || before[i].SHA256 != now[i].SHA256:
			return now[i].Name
		}
	}
	return ""
}

// sameInit reports whether two runs start from equal files of weights. A run of an earlier version
// of ppal has no checksum of the file: it counts as equal, and the version is refused.
func sameInit(before, now *DataFile) bool {
	return before == nil || now == nil || before.Bytes == now.Bytes && before.SHA256 == now.SHA256
}
