package history

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/toolname"
)

// FileTools maps the names of the agent's tools to functions that return the files that a call reads and modifies. A
// call finds its tool by its exact name, or else ignoring case, separators and the name of a server: Read is read,
// MultiEdit is multi_edit, and so are mcp__files__multi_edit and files_multi_edit. [DefaultFileTools] knows the tools of the usual agents;
// add your own:
//
//	tools := history.DefaultFileTools()
//	tools["view"] = history.Reads("file")
//	tools["apply_patch"] = func(arguments string) entry.Files { … }
//
// The arguments are as the model wrote them, and need not be JSON.
type FileTools map[string]func(arguments string) entry.Files

// DefaultFileTools returns a new map of the tools that read, write and edit files in the usual agents and tool servers, by
// their names and arguments there: those of Claude Code, Codex, Copilot, Gemini CLI, Cursor, Cline, Roo, opencode, goose,
// pi and others. The files of a patch, also if it is run as a shell command, are those that it names.
func DefaultFileTools() FileTools {
	tools := FileTools{}
	set := func(tool func(string) entry.Files, kinds ...toolname.Kind) {
		for _, k := range kinds {
			for _, name := range toolname.Names(k) {
				tools[name] = tool
			}
		}
	}
	set(Reads(toolname.Paths()...), toolname.Read)
	set(Modifies(toolname.Paths()...), toolname.Write, toolname.Create, toolname.Delete, toolname.Edit)
	set(edits, toolname.Editor)
	set(patches, toolname.Patch)
	set(func(arguments string) entry.Files {
		if toolname.IsPatch(arguments) {
			return patches(arguments)
		}
		return entry.Files{}
	}, toolname.Shell)
	return tools
}

// edits returns the file of a tool that its argument command tells what to do.
func edits(arguments string) entry.Files {
	files := toolname.Named(arguments, toolname.Paths())
	if slices.Equal(toolname.Named(arguments, []string{"command"}), []string{"view"}) {
		return entry.Files{Read: files}
	}
	return entry.Files{Modified: files}
}

// patches returns the files that a patch in a call's arguments modifies, or else those that the arguments name.
func patches(arguments string) entry.Files {
	if files := toolname.Patched(arguments); len(files) > 0 {
		return entry.Files{Modified: files}
	}
	return entry.Files{Modified: toolname.Named(arguments, toolname.Paths())}
}

// Reads returns what [FileTools] takes of a tool that reads files: those named by the given arguments of its calls, each a
// text or a list of texts, there or in a list of objects, such as a list of edits.
func Reads(arguments ...string) func(string) entry.Files {
	return func(text string) entry.Files { return entry.Files{Read: toolname.Named(text, arguments)} }
}

// Modifies is like [Reads], for a tool that modifies the files.
func Modifies(arguments ...string) func(string) entry.Files {
	return func(text string) entry.Files { return entry.Files{Modified: toolname.Named(text, arguments)} }
}

// mostFiles is the maximum number of files that [FileTools.Of] lists.
const mostFiles = 500

// Of returns the files that were read and modified on a path, such as the one that [Session.PathTo] returns, each once,
// the most recently used last. At most 500 are listed, and the others counted ([entry.Files.Left]): first the files
// read longest ago are left out, then those modified longest ago. As in oh-my-pi:
//
//   - All calls of the assistant count, whether they succeeded or not: a failed edit may be half done.
//   - A file that was modified is not listed as read.
//   - Files are cumulative: what a compaction covered still counts, by the calls on the path and the Files of the
//     compaction, and so do the Files of a branch summary.
//   - The Files of a compaction or branch summary that an extension supplied do not count, and neither does what that
//     compaction covered.
//
// The error is that of the path.
func (t FileTools) Of(path iter.Seq2[entry.Entry, error]) (entry.Files, error) {
	var ops []fileOp
	places := map[string]int{}
	find := toolname.Finder(t)
	i := -1
	for e, err := range path {
		if err != nil {
			return entry.Files{}, err
		}
		i++
		places[e.ID] = i
		switch b := e.Body.(type) {
		case entry.Message:
			for _, c := range b.ToolCalls {
				if tool, _ := find(c.Name); tool != nil {
					ops = append(ops, fileOp{i, tool(c.Arguments)})
				}
			}
		case entry.BranchSummary:
			if !b.Extension {
				ops = append(ops, fileOp{i, b.Files})
			}
		case entry.Compaction:
			kept := i
			if at, ok := places[b.FirstKept]; ok {
				kept = at
			} else if at, ok := places[b.LastCovered]; ok && b.FirstKept == "" {
				kept = at + 1
			}
			if b.Extension {
				ops = slices.DeleteFunc(ops, func(op fileOp) bool { return op.at < kept })
			} else {
				ops = append(ops, fileOp{kept - 1, b.Files})
			}
		}
	}
	return merge(ops), nil
}

// fileOp holds the files of an entry. Those of a compaction belong to the last entry that it covers.
type fileOp struct {
	at    int
	files entry.Files
}

// merge returns each file once, the most recently used last.
func merge(ops []fileOp) entry.Files {
	slices.SortStableFunc(ops, func(a, b fileOp) int { return cmp.Compare(a.at, b.at) })
	touched, modified := map[string]int{}, map[string]bool{} // by path: when, and whether it was modified
	left, n := 0, 0
	touch := func(path string) {
		if path != "" {
			n++
			touched[path] = n
		}
	}
	for _, op := range ops {
		for _, path := range op.files.Read {
			touch(path)
		}
		for _, path := range op.files.Modified {
			touch(path)
			modified[path] = true
		}
		// What a compaction left out may also be known from the calls before it.
		left = max(left, clamp.Sum(op.files.Left, len(op.files.Read)+len(op.files.Modified)-len(touched)))
	}
	files := entry.Files{Left: clamp.Sum(left, max(0, len(touched)-mostFiles))}
	for _, path := range slices.SortedFunc(maps.Keys(touched), func(a, b string) int { return cmp.Compare(touched[a], touched[b]) }) {
		if modified[path] {
			files.Modified = append(files.Modified, path)
		} else {
			files.Read = append(files.Read, path)
		}
	}
	files.Modified = files.Modified[max(0, len(files.Modified)-mostFiles):]
	files.Read = files.Read[max(0, len(files.Read)+len(files.Modified)-mostFiles):]
	return files
}
