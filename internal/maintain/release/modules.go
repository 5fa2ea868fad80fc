package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// tree is a checkout of the repository.
type tree struct {
	dir     string
	modules []module // those of go.work, in its order
}

// module is one of the repository's modules.
type module struct {
	dir  string // relative to the checkout, with slashes; "." is the root
	path string
	file *modfile.File // its go.mod
}

// untagged lists the folders whose modules nobody imports. They are run and tested in a checkout, so they get no tag.
var untagged = []string{"bench/", "examples/", "internal/"}

// tag returns the tag from which the go command takes a version of the module.
func (m module) tag(version string) string {
	if m.dir == "." {
		return version
	}
	return m.dir + "/" + version
}

// readTree reads the go.work of a checkout and the modules that it uses.
func readTree(dir string) (*tree, error) {
	data, err := os.ReadFile(filepath.Join(dir, "go.work"))
	if err != nil {
		return nil, fmt.Errorf("release: %w: run it in the root of a checkout", err)
	}
	work, err := modfile.ParseWork("go.work", data, nil)
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	t := &tree{dir: dir}
	for _, use := range work.Use {
		m := module{dir: path.Clean(use.Path)}
		name := t.goModFile(m)
		if data, err = os.ReadFile(name); err == nil {
			m.file, err = modfile.Parse(name, data, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("release: %w", err)
		}
		m.path = m.file.Module.Mod.Path
		t.modules = append(t.modules, m)
	}
	return t, nil
}

func (t *tree) goModFile(m module) string { return filepath.Join(t.dir, m.dir, "go.mod") }

// released returns the modules that get a tag.
func (t *tree) released() []module {
	return slices.DeleteFunc(slices.Clone(t.modules), func(m module) bool {
		return slices.ContainsFunc(untagged, func(folder string) bool { return strings.HasPrefix(m.dir, folder) })
	})
}

// require makes each module require the others at a version, and returns the paths of the changed go.mod files in the
// checkout. It keeps the replace directives: in the checkout they take precedence, and in a module that depends on ours
// they are ignored.
func (t *tree) require(version string) ([]string, error) {
	ours := map[string]bool{}
	for _, m := range t.modules {
		ours[m.path] = true
	}
	var changed []string
	for _, m := range t.modules {
		change := false
		for _, r := range m.file.Require {
			if !ours[r.Mod.Path] || r.Mod.Version == version {
				continue
			}
			if err := m.file.AddRequire(r.Mod.Path, version); err != nil {
				return nil, fmt.Errorf("release: %s: %w", t.goModFile(m), err)
			}
			change = true
		}
		if !change {
			continue
		}
		data, err := m.file.Format()
		if err != nil {
			return nil, fmt.Errorf("release: %s: %w", t.goModFile(m), err)
		}
		if err := os.WriteFile(t.goModFile(m), data, 0o644); err != nil {
			return nil, fmt.Errorf("release: %w", err)
		}
		changed = append(changed, path.Join(m.dir, "go.mod"))
	}
	return changed, nil
}
