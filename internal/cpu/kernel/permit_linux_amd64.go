package kernel

import (
	"fmt"
	"syscall"
)

// permitTiles asks the kernel for the permission to use tiles: Linux 5.16 or newer grants it for
// the whole process. The kernel refuses if a thread's stack for signals is too small for the state
// of the tiles (see Documentation/arch/x86/xstate.rst of Linux).
func permitTiles() error {
	const (
		requestPermission = 0x1023 // ARCH_REQ_XCOMP_PERM
		tileData          = 18     // the component of the state
	)
	if _, _, e := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0); e != 0 {
		return fmt.Errorf("the operating system grants no tiles: %w", e)
	}
	return nil
}
