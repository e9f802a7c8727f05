package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/ranks"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// starters are the programs that start the same command in several processes, with the environment
// variables that hold the number of processes and the number of this process. The first variable
// that is set decides: inside Slurm, mpirun starts its helpers by srun, so srun's variable counts
// the helpers. SLURM_STEP_NUM_TASKS is set inside srun only. SLURM_NTASKS is set in a script of
// sbatch too, which runs once.
var starters = []struct{ program, size, rank string }{
	{"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, // Open MPI
	{"mpirun", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},   // MVAPICH
	{"mpirun or srun", "PMI_SIZE", "PMI_RANK"},                 // MPICH, Intel MPI, srun --mpi=pmi2
	{"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
}

// repeatedWait is the time that the other processes leave to process 0 for its line. mpirun ends
// all processes when the first process fails.
const repeatedWait = time.Second

// repeated is the error of a program that a starter runs in several processes.
type repeated struct {
	program, size string // the starter, and its variable with the number of processes
	reason        string // why this program, or the command, runs in one process
	advice        string
	processes     int
	rank          int // of this process
}

func (e *repeated) Error() string {
	return fmt.Sprintf("%s started %d processes, and %s: each process would do the whole work; %s; for %[2]d separate runs, each with its own "+
		"--out, unset %[5]s", e.program, e.processes, e.reason, e.advice, e.size)
}

// startedRepeatedly returns a *repeated if a starter runs this command in several processes.
func startedRepeatedly(getenv func(string) string) *repeated {
	for _, s := range starters {
		n, err := strconv.Atoi(getenv(s.size))
		if err != nil || n < 1 {
			continue
		}
		if n == 1 {
			return nil
		}
		rank, _ := strconv.Atoi(getenv(s.rank)) // without a number, each process writes the line
		return &repeated{program: s.program, size: s.size, processes: n, rank: rank}
	}
	return nil
}

// silent reports whether process 0 writes the error in place of this process. silent waits, so that
// the end of this process does not end process 0 before its line.
func (e *repeated) silent(ctx context.Context) bool {
	if e.rank == 0 {
		return false
	}
	select {
	case <-ctx.Done():
	case <-time.After(repeatedWait):
	}
	return true
}

// once wraps the work of a command that works in one process. once refuses to start if the same
// command runs in several processes, which would all do the same work and write the same files.
func (a *app) once(do func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return a.command(func(cmd *cobra.Command, args []string) error {
		if e := startedRepeatedly(a.getenv); e != nil {
			e.reason, e.advice = "this command works in one process", fmt.Sprintf("start ppal without %s, or with -n 1", e.program)
			return usage{e}
		}
		return do(cmd, args)
	})
}

// inProcesses wraps the work of a command that can train in several processes. If a starter runs
// the command in several processes, process 0 does the work, and the others share its rows.
func (a *app) inProcesses(do func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return a.command(func(cmd *cobra.Command, args []string) error {
		e := startedRepeatedly(a.getenv)
		switch {
		case e == nil:
			return do(cmd, args)
		case a.join == nil:
			e.reason = "this program supports one"
			e.advice = fmt.Sprintf("build the program with MPI and start bin/ppal-mpi (make mpi), or bin/ppal-mpi-gpu for GPUs (make mpi-gpu), or start ppal without %s", e.program)
			return usage{e}
		}
		c, end, err := a.join()
		if err != nil {
			return err
		}
		if c.Size() != e.processes {
			e.reason = fmt.Sprintf("MPI joined %d of them", c.Size())
			e.advice = fmt.Sprintf("start ppal by the %s of the MPI library that the program was built with; with srun, choose the library's interface "+
				"(srun --mpi=list)", e.program)
			return usage{errors.Join(e, end())}
		}
		defer a.endAll(c)
		if c.Rank() > 0 {
			err = a.serve(cmd.Context(), c)
		} else {
			err = a.lead(c, func() error { return do(cmd, args) })
		}
		return cmp.Or(err, end())
	})
}

// endAll is deferred. It ends all processes if this process panics, because the others may wait for
// this process. If the environment asks for a traceback, Go prints the stacks instead.
func (a *app) endAll(c ranks.Collective) {
	p := recover()
	if p == nil {
		return
	}
	if os.Getenv("GOTRACEBACK") == "" {
		c.Abort(a.bugIn(p))
	}
	panic(p)
}

// sharedRun says which run the processes share.
type sharedRun struct {
	Config      string            // the settings, in the form of config.yaml
	Environment map[string]string // the variables that say where the data are
	Folds, Held int               // tabular.TableOptions.Folds, Held, which no flag expresses
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
		served, folds, held := o.Served()
		settings, err := served.Config(results.Provenance{})
		if err != nil {
			return nil, err
		}
		r := sharedRun{string(settings), map[string]string{}, folds, held}
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
	o, err := cfg.SessionOptions(dataDir)
	if table, ok := o.Data.(session.Table); ok {
		table.Folds, table.Held = r.Folds, r.Held
		o.Data = table
	}
	return o, err
}

// joinProcesses returns the function that starts MPI; nil: this program supports one process.
// Signals that stop the program are for process 0, which stops the others.
func joinProcesses() func() (ranks.Collective, func() error, error) {
	if ranks.Start == nil {
		return nil
	}
	return func() (ranks.Collective, func() error, error) {
		c, end, err := ranks.Start()
		if err == nil && c.Rank() > 0 {
			signal.Ignore(stopSignals()...)
		}
		return c, end, err
	}
}
