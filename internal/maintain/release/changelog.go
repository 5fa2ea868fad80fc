package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	changelogFile = "CHANGELOG.md"
	unreleased    = "## [Unreleased]\n"
	repository    = "https://github.com/promptree-go/promptree"
)

// errNoEntries is the error of a changelog in which nothing is new, as it is after a release.
var errNoEntries = errors.New("release: " + changelogFile + " has no entries under Unreleased: write what is new")

// datedChangelog moves the entries under Unreleased to a section for the version, dated with the day, in the form of
// keepachangelog.com. It points the links at the end to the new tag.
func datedChangelog(text, version string, day time.Time) (string, error) {
	before, rest, found := strings.Cut(text, unreleased)
	if !found {
		return "", fmt.Errorf("release: %s has no line %q", changelogFile, strings.TrimSpace(unreleased))
	}
	entries, _, _ := strings.Cut(rest, "\n## ")
	entries, _, _ = strings.Cut(entries, "\n[")
	number := strings.TrimPrefix(version, "v")
	rest = fmt.Sprintf("\n## [%s] - %s\n", number, day.Format(time.DateOnly)) + rest

	head, link, found := strings.Cut(rest, "\n[Unreleased]: ")
	if !found {
		return "", errors.New("release: " + changelogFile + " has no link for Unreleased at its end")
	}
	if strings.TrimSpace(entries) == "" {
		return "", errNoEntries
	}
	_, older, _ := strings.Cut(link, "\n")
	return fmt.Sprintf("%s%s%s\n[Unreleased]: %s/compare/%s...main\n[%s]: %s/releases/tag/%s\n%s",
		before, unreleased, head, repository, version, number, repository, version, older), nil
}
