package double

import (
	"fmt"
	"slices"
	"sync"

	"ppal/cuda/driver"
)

// Network joins devices of several machines, each of which a goroutine drives. A receive waits for
// its send.
type Network struct {
	lock    sync.Mutex
	changed *sync.Cond
	sent    map[[2]int][][]byte // by sender and receiver
	ended   error
}

// NewNetwork returns a network for one communicator.
func NewNetwork() *Network {
	n := &Network{sent: map[[2]int][][]byte{}}
	n.changed = sync.NewCond(&n.lock)
	return n
}

// theMeeting is what the double's processes must know.
var theMeeting = []byte("the double's meeting")

// Meet implements driver.Gatherer.
func (d *Driver) Meet(leads bool) ([]byte, error) {
	if err := d.begin(Call{Kind: "Meet"}); err != nil {
		return nil, err
	}
	if d.options.Network == nil {
		return nil, fmt.Errorf("double: %w", driver.ErrNoCommunicator)
	}
	if leads {
		return slices.Clone(theMeeting), nil
	}
	return make([]byte, len(theMeeting)), nil
}

// Gather implements driver.Gatherer.
func (d *Driver) Gather(meeting []byte, devices []driver.Driver, first, total int) (driver.Communicator, error) {
	if err := d.begin(Call{Kind: "Gather"}); err != nil {
		return nil, err
	}
	c := &communicator{first: first, total: total, network: d.options.Network}
	if err := c.take(d, devices); err != nil {
		return nil, err
	}
	if string(meeting) != string(theMeeting) || first < 0 || first+len(devices) > total {
		return nil, d.violation("the devices %d to %d of %d, which meet by %q", first, first+len(devices)-1, total, meeting)
	}
	c.join()
	return c, nil
}

func (n *Network) send(t driver.Transfer, contents []byte) {
	n.lock.Lock()
	defer n.lock.Unlock()
	between := [2]int{t.From, t.To}
	n.sent[between] = append(n.sent[between], slices.Clone(contents))
	n.changed.Broadcast()
}

func (n *Network) receive(t driver.Transfer, contents []byte) error {
	n.lock.Lock()
	defer n.lock.Unlock()
	between := [2]int{t.From, t.To}
	for len(n.sent[between]) == 0 && n.ended == nil {
		n.changed.Wait()
	}
	if n.ended != nil {
		return n.ended
	}
	sent := n.sent[between][0]
	n.sent[between] = n.sent[between][1:]
	if len(sent) != len(contents) {
		return fmt.Errorf("double: device %d sends %d bytes, and device %d receives %d", t.From, len(sent), t.To, len(contents))
	}
	copy(contents, sent)
	return nil
}

// end makes all receives fail, as NCCL does when a process fails.
func (n *Network) end(err error) {
	if n == nil {
		return
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.ended == nil {
		n.ended = fmt.Errorf("double: another process failed: %w", err)
	}
	n.changed.Broadcast()
}

func (n *Network) failure() error {
	if n == nil {
		return nil
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.ended
}
