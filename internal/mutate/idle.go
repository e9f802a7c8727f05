package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A command that uses less than leastWork of processor time in the idle limit waits for something
// that does not come, and ends. A program that runs, even beside many others, uses more.
const (
	idleLimit = 10 * time.Second
	leastWork = 20 * time.Millisecond
)

// runBusy runs a command until it ends, or until the command and its children are idle for the
// limit. It needs Linux's /proc; on other systems there is no limit.
func runBusy(ctx context.Context, c *exec.Cmd, limit time.Duration) (idle bool, err error) {
	if err := c.Start(); err != nil {
		return false, err
	}
	ctx, stop := context.WithCancel(ctx)
	waited := make(chan bool)
	go func() { waited <- waitIdle(ctx, c.Process.Pid, limit) }()
	err = c.Wait()
	stop()
	return <-waited, err
}

// waitIdle waits until a process and its children are idle for the limit. It then kills all of them
// and returns true. It returns false at the end of the context.
func waitIdle(ctx context.Context, pid int, limit time.Duration) bool {
	tick := time.NewTicker(limit / 10)
	defer tick.Stop()
	since, last := time.Now(), time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return false
		case now := <-tick.C:
			family, used := processes(pid)
			if len(family) == 0 {
				return false
			}
			if used-last >= leastWork {
				since, last = now, used
			} else if now.Sub(since) > limit {
				for _, p := range family {
					if p, err := os.FindProcess(p); err == nil {
						p.Kill()
					}
				}
				return true
			}
		}
	}
}

// processes returns a process and its living descendants, and the processor time of all of them and
// of the children that have ended. It returns no process if the system has no /proc.
func processes(pid int) (family []int, used time.Duration) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, 0
	}
	type process struct {
		parent int
		used   time.Duration
	}
	all := map[int]process{}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
		// the name, in parentheses, may have any characters
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(f) < 15 {
			continue // the process has ended
		}
		var p process
		p.parent, _ = strconv.Atoi(f[1])
		for _, ticks := range f[11:15] { // of the process and of children that have ended, as user and in the system
			n, _ := strconv.Atoi(ticks)
			p.used += time.Duration(n) * time.Second / 100
		}
		all[id] = p
	}
	if _, ok := all[pid]; !ok {
		return nil, 0
	}
	family = []int{pid}
	for i := 0; i < len(family); i++ {
		used += all[family[i]].used
		for id, p := range all {
			if p.parent == family[i] {
				family = append(family, id)
			}
		}
	}
	return family, used
}
