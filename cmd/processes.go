package cmd

import (
	"context"
	"encoding/json"
	"fmt"

	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/ranks"
	"ppal/trainer/session"
)

// sharedRun says which run the processes share.
type sharedRun struct {
	Config      string            // the settings, in the form of config.yaml
	Environment map[string]string // the variables that say where the data are
}

// dataVariables are the variables on which the directory of the data depends.
var dataVariables = []string{"PPAL_DATA", "XDG_CACHE_HOME", "HOME"}

// lead does the work of a command in process 0. The other processes share the rows of all sessions
// that the command opens.
func (a *app) lead(c ranks.Collective, do func() error) error {
	team := ranks.NewTeam(c)
	follow := team.Register(func([]byte) error { return nil })
	a.processes, a.open = c.Size(), shareRuns(a.open, c, follow, a.getenv)
	err := do()
	if released := team.Release(); err == nil {
		err = released
	}
	return err
}

// opener opens sessions.
type opener func(ctx context.Context, o session.Options) (*session.Session, error)

// shareRuns returns an opener that calls follow, which makes the other processes take part in the
// run, and then open.
func shareRuns(open opener, c ranks.Collective, follow ranks.Procedure, getenv func(string) string) opener {
	return func(ctx context.Context, o session.Options) (*session.Session, error) {
		settings, err := o.Files.Config(session.Provenance{})
		if err != nil {
			return nil, err
		}
		r := sharedRun{string(settings), map[string]string{}}
		for _, name := range dataVariables {
			r.Environment[name] = getenv(name)
		}
		text, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		if err := follow(text); err != nil {
			return nil, err
		}
		o.Device.Ranks = c
		return open(ctx, o)
	}
}

// serve takes part in the runs of process 0.
func (a *app) serve(ctx context.Context, c ranks.Collective) error {
	team := ranks.NewTeam(c)
	team.Register(func(message []byte) error {
		if err := a.follow(ctx, c, message); err != nil && !session.Reported(err) {
			fmt.Fprintf(a.stderr, "ppal: process %d of %d: %s\n", c.Rank(), c.Size(), errorText(err))
		}
		return nil
	})
	return team.Serve()
}

// follow takes part in a run of process 0.
func (a *app) follow(ctx context.Context, c ranks.Collective, message []byte) error {
	o, err := a.sharedOptions(message)
	o.Device.Ranks = c // also after an error, which session.Serve passes on to process 0
	return session.Serve(ctx, o, err)
}

func (a *app) sharedOptions(text []byte) (session.Options, error) {
	var r sharedRun
	if err := json.Unmarshal(text, &r); err != nil {
		return session.Options{}, err
	}
	file, err := config.ParseFile("the settings of process 0", []byte(r.Config))
	if err != nil {
		return session.Options{}, err
	}
	cfg, err := config.Resolve(nil, file)
	if err != nil {
		return session.Options{}, err
	}
	setThreads(cfg)
	setHeap(cfg)
	dataDir, err := datasets.DirOf(cfg.Dataset, cfg.DataDir, func(name string) string { return r.Environment[name] })
	if err != nil {
		return session.Options{}, err
	}
	return cfg.SessionOptions(dataDir)
}
