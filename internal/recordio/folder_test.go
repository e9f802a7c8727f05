package recordio

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// tree makes empty files below a new folder.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
	}
	return dir
}

// The table of a folder lists its pictures by split, class and path.
func TestFolder(t *testing.T) {
	for _, c := range []struct {
		files   []string
		want    string
		leftOut []string
	}{
		{[]string{"b/1.png", "a/2.JPG", "a/deep/3.jpeg", "a/.hidden.png", ".git/x.png"}, "picture,class\na/2.JPG,a\na/deep/3.jpeg,a\nb/1.png,b\n", nil},
		{[]string{"a/1.png", "b/1.png", "b/notes.txt", "top.png", "empty/x.gif"}, "picture,class\na/1.png,a\nb/1.png,b\n",
			[]string{"b/notes.txt", "empty", "empty/x.gif", "top.png"}},
		{[]string{"train/n01440764/n01440764_10026.JPEG", "val/n01440764/ILSVRC2012_val_00000293.JPEG", "train/n01443537/x.JPEG"}, // the layout of torchvision's ImageFolder
			"picture,class,split\ntrain/n01440764/n01440764_10026.JPEG,n01440764,train\ntrain/n01443537/x.JPEG,n01443537,train\n" +
				"val/n01440764/ILSVRC2012_val_00000293.JPEG,n01440764,val\n", nil},
		{[]string{"train/1.png", "bus/1.png"}, "picture,class\nbus/1.png,bus\ntrain/1.png,train\n", nil}, // a class of trains
		{[]string{"2.png", "1.png", "a,b.png"}, "picture\n1.png\n2.png\n\"a,b.png\"\n", nil},
	} {
		f := require.Value(ReadFolder(tree(t, c.files...)))(t)
		slices.Sort(f.LeftOut)
		if got := string(f.table(FolderPicture, FolderClass)); got != c.want || !slices.Equal(f.LeftOut, c.leftOut) {
			t.Errorf("%v: %q, left out %q", c.files, got, f.LeftOut)
		}
	}
}

// Links to pictures and folders are followed, and a loop and a broken link are errors.
func TestFolderLinks(t *testing.T) {
	dir, other := tree(t, "a/1.png", "b/1.png"), tree(t, "2.png")
	link := func(old, name string) {
		if err := os.Symlink(old, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	link(other, "c")
	link(filepath.Join(other, "2.png"), "a/2.png")
	f := require.Value(ReadFolder(dir))(t)
	if got := string(f.table("p", "k")); got != "p,k\na/1.png,a\na/2.png,a\nb/1.png,b\nc/2.png,c\n" {
		t.Error(got)
	}
	link(filepath.Join(dir, "b"), "b/loop")
	if _, err := ReadFolder(dir); err == nil || !strings.Contains(err.Error(), filepath.Join("b", "loop")+": wrong format: the link leads to a folder above it") {
		t.Errorf("a loop: %v", err)
	}
	os.Remove(filepath.Join(dir, "b", "loop"))
	link("nowhere.png", "b/2.png")
	if _, err := ReadFolder(dir); err == nil || !strings.Contains(err.Error(), filepath.Join("b", "2.png")+": no such file") {
		t.Errorf("a broken link: %v", err)
	}
}
