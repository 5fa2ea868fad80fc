// Command release releases the modules of this repository together, at one version.
//
//	go run ./internal/maintain/release v0.1.0       # says what it would do
//	go run ./internal/maintain/release -do v0.1.0   # does it, except the push
//
// It makes our modules require each other at the version, dates the entries under Unreleased in CHANGELOG.md, runs
// .ci/run, commits, and makes a tag for each module that others import. It commits nothing unless .ci/run passes.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

func main() {
	do := flag.Bool("do", false, "edit, run .ci/run, commit and tag")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./internal/maintain/release [-do] VERSION")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := release(".", flag.Arg(0), *do, time.Now(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// release checks that a version can be released, and releases it if do is set. Otherwise it says what it would do.
func release(dir, version string, do bool, day time.Time, out io.Writer) error {
	t, err := readTree(dir)
	if err != nil {
		return err
	}
	if err := t.check(version); err != nil {
		return err
	}
	changelog, err := t.changelog(version, day)
	if err != nil {
		return err
	}
	var tags []string
	for _, m := range t.released() {
		tags = append(tags, m.tag(version))
	}
	push := "git push --atomic origin main " + strings.Join(tags, " ")
	if !do {
		fmt.Fprintf(out, "would require %s among %d modules, date %s, run .ci/run, commit and tag; then run\n\n\t%s\n",
			version, len(t.modules), changelogFile, push)
		return nil
	}

	edited, err := t.require(version)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, changelogFile), changelog, 0o644); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	edited = append(edited, changelogFile)
	if err := t.run(out, "bash", ".ci/run"); err != nil {
		return fmt.Errorf("%w: nothing is committed or tagged; git restore . reverts the edits", err)
	}
	changed, err := t.git("diff", "--name-only", "HEAD")
	if err != nil {
		return err
	}
	slices.Sort(edited)
	if got := strings.Fields(changed); !slices.Equal(got, edited) {
		return fmt.Errorf("release: files were changed while .ci/run ran: %v differ from the last commit, not %v: restore them and try again", got, edited)
	}
	if _, err := t.git(append([]string{"commit", "--quiet", "-m", "promptree: release " + version, "--"}, edited...)...); err != nil {
		return err
	}
	for _, tag := range tags {
		if _, err := t.git("tag", "-a", "-m", tag, tag); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "committed and tagged; now run\n\n\t%s\n", push)
	return nil
}

// check returns an error if a version cannot be released from this checkout.
func (t *tree) check(version string) error {
	if semver.Canonical(version) != version || semver.Build(version) != "" {
		return fmt.Errorf("release: %q is not a version such as v0.1.0", version)
	}
	if major := semver.Major(version); major != "v0" && major != "v1" {
		return fmt.Errorf("release: %s: from v2 on the paths of modules end with the major version, and ours do not", version)
	}
	tags, err := t.git("tag", "--list", "v*", "*/v*")
	if err != nil {
		return err
	}
	for _, tag := range strings.Fields(tags) {
		if semver.Compare(path.Base(tag), version) >= 0 {
			return fmt.Errorf("release: %s is not after %s, which is tagged", version, tag)
		}
	}
	branch, err := t.git("branch", "--show-current")
	if err != nil {
		return err
	}
	if strings.TrimSpace(branch) != "main" {
		return fmt.Errorf("release: the branch is %q: releases are made on main", strings.TrimSpace(branch))
	}
	changed, err := t.git("status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("release: the checkout has changes that are not committed: commit or stash them:\n%s", changed)
	}
	return nil
}

func (t *tree) changelog(version string, day time.Time) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(t.dir, changelogFile))
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	text, err := datedChangelog(string(data), version, day)
	return []byte(text), err
}

func (t *tree) git(args ...string) (string, error) {
	var out strings.Builder
	err := t.run(&out, "git", args...)
	return out.String(), err
}

// run runs a command in the checkout. Its standard error is passed on at once.
func (t *tree) run(out io.Writer, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.dir, out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("release: %s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}
