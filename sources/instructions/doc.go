// Package instructions shows a project's instruction files, such as AGENTS.md, as an element of the prompt.
//
//	root, err := os.OpenRoot("/home/me/project")
//	...
//	files := &instructions.Files{FS: root.FS(), Dir: "services/api"}
//	prompt := el.Prompt(
//		el.System(el.Text("You are a coding agent.")),
//		el.User(files),
//		history.All{Session: session},
//	)
//
// Because they are rendered and not said, no compaction loses them, and a session that is reopened shows them again.
//
// # Which files
//
// In each folder from the root to the working directory [Files] shows at most one file, the first of [Files].Names that
// exists and is not blank, as Codex does; and at the root also .github/copilot-instructions.md. The file nearest to the
// working directory comes last. Of files with the same content only the nearest is shown. Each stands between tags:
//
//	<instructions path="services/api/AGENTS.md">
//	Run the tests with `make test`. The style is in @docs/style.md
//	<imported path="services/api/docs/style.md">
//	...
//	</imported>
//	</instructions>
//
// # Imports
//
// A path behind an @ at the start of a word imports that file, as in Claude Code and Gemini CLI: not in code spans and
// code blocks, relative to the file that imports it, at most five deep, each file once. The file is shown below the line
// that names it. If there is no such file, the words stay as they are, because @ is used for other things too. An
// absolute path, one that begins with ~, and one that leads out of the root, also through a symbolic link, are refused:
// a tag in the text says so. So do tags for a file that is shown elsewhere, that is not text, and beyond a limit. A path of
// which a part begins with a dot, such as .env, is imported only if it ends in .md, .mdc, .markdown or .txt, and none of
// which a part is .git.
//
// # Limits
//
// Of a file 64 kB are shown, of all together 256 kB with their tags, and no more tokens than a quarter of the prompt's
// usual budget ([Files].Share), the nearest first; a file that is cut ends at a line, its tag says how much of it is
// shown, and [Files].OnCut is told its path. A refusal of the provider that lowers the budget of a step changes none of
// it. At most 100 files are shown, and 1,000 paths are looked up.
//
// # Changes
//
// Files are read at each render, which costs a few file system calls a folder. The same content gives the same bytes, so
// that the provider's cache holds. A file that changed on disk is shown anew in the next prompt, at its place, which
// breaks the cache from there on; [Files].OnChange is told its path. With [Files].Session it stays at its place as it was
// until the next compaction, and [Changes] shows it as it is at the end of the prompt.
//
// A file that is being saved harms nothing: what changed is read again until two readings, 20 milliseconds apart, are the
// same, and a file that vanished or became empty must stay so for 100 milliseconds. Until then, and for at most 200
// milliseconds, the render waits; if that is not enough, it shows what it showed before.
//
// # Text from files is data
//
// A file cannot close its tag, open one of promptree's own, or have a line that reads as promptree's mark for something
// left out: a backslash is put into these. That does not keep a model from following what a file says. Put the files of
// a project that you do not trust into a user message, not a system message, and limit what tools may do.
//
// In a user message they look like something that the user said. A policy that has a summary made by a fork of the agent's
// request shows them to the model that writes it, which may then repeat some of them in the summary.
package instructions
