package mapped

import (
	"runtime"
	"testing"
	"testing/fstest"
)

func TestAvailable(t *testing.T) {
	const meminfo = "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    800 kB\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  uint64
		ok    bool
	}{
		"nothing known": {nil, 0, false},
		"machine":       {map[string]string{"proc/meminfo": meminfo}, 800 << 10, true},
		"no limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.current": "5\n"}, 800 << 10, true},
		"the group's limit, without its cached files": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "5000\n", "sys/fs/cgroup/a/b/memory.current": "4000\n",
			"sys/fs/cgroup/a/b/memory.stat": "anon 1\ninactive_file 300\n"}, 1300, true},
		"the limit of the group above": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.current": "1\n",
			"sys/fs/cgroup/a/memory.max": "5000\n", "sys/fs/cgroup/a/memory.current": "4990\n"}, 10, true},
		"a group above its limit": {map[string]string{"proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "5000\n", "sys/fs/cgroup/memory.current": "6000\n"}, 0, true},
		"version 1": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu:/x\n4:hugetlb,memory:/docker/1\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "3000\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1000\n"}, 2000, true},
	} {
		root := fstest.MapFS{}
		for path, text := range tc.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		got, ok := available(root)
		if ok != tc.ok || ok && got != tc.want {
			t.Errorf("%s: %d, %v, want %d, %v", name, got, ok, tc.want, tc.ok)
		}
	}
}

func TestHere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says")
	}
	if n, ok := FreeMemory(); !ok || n < 1<<20 {
		t.Errorf("available: %d, %v", n, ok)
	}
	if n := ResidentMemory(); n < 1<<20 || n > 1<<36 {
		t.Errorf("resident: %d", n)
	}
	if all, own := MemoryUsage(); own < 1<<18 || own >= all { // the program's file is not the process's own
		t.Errorf("%d bytes are resident, %d of them the process's own", all, own)
	}
}
