package cmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"
)

// The start of the heap has the kernel's flag for huge pages, the next allocations lie there, and
// the ballast takes no memory. The test runs in a process of its own, whose heap is unused.
func TestHeapHasHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("the kernel has no huge pages")
	}
	if os.Getenv("PPAL_UNUSED_HEAP") == "" {
		own := exec.Command(os.Args[0], "-test.run=^TestHeapHasHugePages$")
		own.Env = append(os.Environ(), "PPAL_UNUSED_HEAP=1")
		if out, err := own.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	t.Setenv("GOGC", "")
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	ballast := prepareHeap()
	defer runtime.KeepAlive(ballast)
	own := make([]byte, hugeHeap/4) // may begin below the advised pages
	if _, flags := mapping(t, &own[len(own)/2]); !strings.Contains(flags, " hg") {
		t.Errorf("an allocation lies in memory with the flags%s, want hg", flags)
	}
	if resident, _ := mapping(t, &ballast[len(ballast)/2]); resident > len(ballast)>>10/8 {
		t.Errorf("the ballast's memory has %d KiB resident, want almost nothing", resident)
	}
	t.Setenv("GOGC", "50")
	if prepareHeap() != nil {
		t.Error("ppal changes the heap although the user has set GOGC")
	}
}

// mapping returns the resident KiB and the flags of the mapping that has the byte.
func mapping(t *testing.T, b *byte) (resident int, flags string) {
	t.Helper()
	file, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	at, inside := uintptr(unsafe.Pointer(b)), false
	for line := range bytes.Lines(file) {
		text := strings.TrimSpace(string(line))
		name, value, _ := strings.Cut(text, ":")
		if from, to, ok := addresses(text); ok {
			inside = from <= at && at < to
		}
		if !inside {
			continue
		}
		switch name {
		case "Rss":
			_, _ = fmt.Sscan(value, &resident)
		case "VmFlags":
			return resident, value
		}
	}
	t.Fatal("no mapping has the byte")
	return 0, ""
}

// addresses returns the addresses at the start of a mapping's first line.
func addresses(line string) (from, to uintptr, ok bool) {
	n, err := fmt.Sscanf(line, "%x-%x ", &from, &to)
	return from, to, err == nil && n == 2
}
