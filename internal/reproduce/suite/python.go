package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"ppal/internal/option"
	"ppal/internal/study"
)

// FindPython returns the environment that `make peers` makes in a checkout of ppal; see
// study.FindPython. Each process has one thread.
func FindPython(checkout, log string) (*study.Python, error) {
	return study.FindPython(checkout, "suite/__main__.py", log, 1)
}

// settings returns the settings of every contender, in the order of their grids. A setting is JSON.
func settings(ctx context.Context, p *study.Python) (map[string][]string, error) {
	text, err := p.Output(ctx, "peers.suite", "--list")
	if err != nil {
		return nil, fmt.Errorf("suite: the list of the other optimisers: %w", err)
	}
	var list map[string][]json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("suite: the list of the other optimisers: %w", err)
	}
	settings := map[string][]string{}
	for name, messages := range list {
		for _, s := range messages {
			settings[name] = append(settings[name], string(s))
		}
	}
	return settings, nil
}

// rival runs contenders in a Python process, one after the other.
type rival struct {
	python  *study.Python
	program string         // this program, which serves the oracles
	limit   time.Duration  // longest time of a run
	process *study.Process // nil: not started, or ended
}

// close ends the process at the end of its run.
func (r *rival) close() {
	if r.process != nil {
		r.process.Close()
		r.process = nil
	}
}

// run runs a contender through an oracle and reads the oracle's trace. An error of the contender
// becomes the run's failure. The error wraps study.ErrNoRecord if the contender's library is
// missing.
func (r *rival) run(ctx context.Context, dataDir, trace string, into *Run) error {
	if r.process == nil {
		var err error
		if r.process, err = r.python.Start(context.WithoutCancel(ctx), "peers.suite.worker"); err != nil {
			return fmt.Errorf("suite: %w", err)
		}
	}
	oracle := []string{r.program, "reproduce", Name, "--oracle", into.Problem, "--threads", "1", "--data-dir", dataDir, "--trace", trace}
	for i, word := range oracle {
		oracle[i] = option.ShellWord(word)
	}
	defer os.Remove(trace)
	limited, stop := context.WithTimeout(ctx, r.limit)
	defer stop()
	stopKilling := context.AfterFunc(limited, r.process.Kill)
	var reply struct{ Missing, Error string }
	err := r.process.Ask([]string{"--oracle", strings.Join(oracle, " "), "--contender", into.Contender,
		"--setting", into.Setting, "--evaluations", strconv.Itoa(into.Limit)}, &reply)
	stopKilling()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		into.Failure = fmt.Sprintf("stopped after %v", r.limit)
	case err != nil:
		into.Failure = fmt.Sprintf("the process ended (see %s)", r.python.Log)
	case reply.Missing != "":
		return fmt.Errorf("suite: %s is not installed: %w", reply.Missing, study.ErrNoRecord)
	default:
		into.Failure = reply.Error
	}
	if err != nil {
		r.close()
	}
	err = into.readTrace(trace)
	if errors.Is(err, fs.ErrNotExist) && limited.Err() != nil {
		return nil // the run was stopped before the oracle began
	}
	if err != nil {
		return fmt.Errorf("suite: %s on %s: %w (see %s)", into.Contender, into.Problem, err, r.python.Log)
	}
	return nil
}
