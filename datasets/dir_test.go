package datasets

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestDir(t *testing.T) {
	if runtime.GOOS == "linux" {
		t.Setenv("XDG_CACHE_HOME", "/cache")
		if got, err := Dir("", env(nil)); got != filepath.Join("/cache", "ppal") || err != nil {
			t.Errorf("cache: %q, %v", got, err)
		}
		t.Setenv("XDG_CACHE_HOME", "relative")
		if got, err := Dir("", env(nil)); err == nil {
			t.Errorf("a relative cache directory gives %q", got)
		}
	}
	vars := env(map[string]string{EnvData: "fromenv"})
	for explicit, want := range map[string]string{"": "fromenv", "given": "given"} {
		if got, err := Dir(explicit, vars); got != want || err != nil {
			t.Errorf("Dir(%q) = %q, %v; want %q", explicit, got, err, want)
		}
	}
}

func TestMirrors(t *testing.T) {
	vars := env(map[string]string{EnvMirror: "http://a/x/, ,http://b"})
	for _, test := range []struct {
		explicit []string
		getenv   func(string) string
		want     []string
	}{
		{nil, env(nil), nil},
		{nil, vars, []string{"http://a/x", "http://b"}},
		{[]string{"http://c/"}, vars, []string{"http://c"}},
	} {
		if diff := cmp.Diff(test.want, Mirrors(test.explicit, test.getenv)); diff != "" {
			t.Error(diff)
		}
	}
}

// Built-in data and the user's own files need no directory: a service may have no home.
func TestDirOf(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	none := func(string) string { return "" }
	for name, ok := range map[string]bool{"synthetic": true, "synthetic-adult": true, "csv": true, "adult": false, "nonsense": false} {
		if _, err := DirOf(name, "", none); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if dir, err := DirOf("adult", "/data", none); dir != "/data" || err != nil {
		t.Error(dir, err)
	}
}
