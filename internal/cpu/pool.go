package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"ppal/internal/relay"
)

// job is work that the pool's workers do at the same time, each worker its share.
type job interface {
	// work does the share of worker 0 <= worker < n.
	work(worker int)
}

// workFunc is a job whose work is a function.
type workFunc func(worker int)

func (f workFunc) work(worker int) { f(worker) }

// pool holds a device's workers: the caller of run, and goroutines that stay alive between runs, so
// that a run starts no goroutine and allocates nothing. The goroutines start with the first run
// that needs them, and end with close or when the pool is garbage.
type pool struct {
	threads int
	mutex   sync.Mutex // one run at a time
	crew    *crew      // nil before the first run
}

func newPool(threads int) *pool { return &pool{threads: threads} }

// run does a job with n workers, at most the pool's threads. The caller is worker 0.
func (p *pool) run(n int, j job) {
	if n <= 1 {
		j.work(0)
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.crew == nil {
		p.crew = newCrew(p.threads - 1)
		runtime.AddCleanup(p, (*crew).end, p.crew)
	}
	p.crew.run(n, j)
	runtime.KeepAlive(p)
}

// close ends the goroutines. A later run starts new ones.
func (p *pool) close() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.crew != nil {
		p.crew.end()
		p.crew = nil
	}
}

// crew is the state of the goroutines. It has no pointer to the pool, so that the pool can be
// collected while the goroutines wait.
type crew struct {
	job     job
	panics  relay.Relay  // of the helpers
	busy    atomic.Int32 // helpers that have not finished
	ended   sync.Once
	caller  seat
	helpers []seat
}

func newCrew(helpers int) *crew {
	spin := helpers < runtime.GOMAXPROCS(0)
	c := &crew{caller: newSeat(spin), helpers: make([]seat, helpers)}
	for i := range c.helpers {
		c.helpers[i] = newSeat(spin)
		go c.help(i)
	}
	return c
}

// run does a job with the caller and n-1 helpers. It returns, or panics, when all have finished. If
// a helper panics, run panics too.
func (c *crew) run(n int, j job) {
	c.job = j
	c.busy.Store(int32(n - 1))
	for i := range n - 1 {
		c.helpers[i].signal()
	}
	defer func() {
		c.caller.wait()
		c.job = nil
		c.panics.Throw()
	}()
	j.work(0)
}

// help runs jobs until the crew ends.
func (c *crew) help(i int) {
	relay.Guard()
	for {
		c.helpers[i].wait()
		j := c.job
		if j == nil {
			return
		}
		c.share(j, i+1)
		if c.busy.Add(-1) == 0 {
			c.caller.signal()
		}
	}
}

// share does a helper's share of a job.
func (c *crew) share(j job, worker int) {
	defer c.panics.Catch()
	j.work(worker)
}

// end lets the helpers return.
func (c *crew) end() {
	c.ended.Do(func() {
		for i := range c.helpers {
			c.helpers[i].signal()
		}
	})
}

// The owner of a seat watches the seat for watchTime, which is as long as most gaps between two
// regions. Then it lets other goroutines run before each look, and doubles the time between looks,
// because on a busy machine the signalling goroutine may wait for this processor. After patience
// the owner sleeps, because waking takes longer than most gaps between two runs.
const (
	watchTime = 3 * time.Microsecond
	patience  = time.Millisecond
)

// seat is a place where one goroutine waits for another goroutine's signal: awake for a while, then
// asleep.
type seat struct {
	state atomic.Uint32
	spin  bool // wait actively, because another processor is available
	wake  chan struct{}
	_     [128]byte // keeps seats in separate cache lines
}

// The states of a seat.
const (
	quiet uint32 = iota
	signalled
	asleep
)

func newSeat(spin bool) seat { return seat{spin: spin, wake: make(chan struct{}, 1)} }

// signal ends the current wait, or else the next wait. Between two signals there is at most one
// wait.
func (s *seat) signal() {
	if s.state.Swap(signalled) == asleep {
		s.wake <- struct{}{}
	}
}

func (s *seat) wait() {
	if !s.watch() && s.state.CompareAndSwap(quiet, asleep) {
		<-s.wake
	}
	s.state.Store(quiet)
}

// watch waits actively for the signal for a while, and reports whether the signal came.
func (s *seat) watch() bool {
	if !s.spin {
		return false
	}
	const looks = 100 // looks at the signal between two looks at the clock
	began, until := time.Now(), watchTime
	for {
		for range looks {
			if s.state.Load() == signalled {
				return true
			}
		}
		switch waited := time.Since(began); {
		case waited > patience:
			return false
		case waited > until:
			runtime.Gosched()
			until = 2 * waited
		}
	}
}
