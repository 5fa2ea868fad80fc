// Package skills shows an agent the skills of some folders, a line each, and loads on demand what it needs of them.
//
// A skill is a folder with a file SKILL.md, in the form that https://agentskills.io/specification describes: front
// matter with a name and a description, then instructions, and beside it any further files.
//
//	folder, err := os.OpenRoot(".agents/skills")
//	...
//	known := &skills.Skills{Session: session, Folders: []fs.FS{folder.FS()}}
//	prompt := el.Prompt(
//		el.System(el.Text("You are a coding agent."), skills.Catalogue{Skills: known}),
//		history.Compacted{Session: session},
//		skills.Loaded{Skills: known}, // shows what was loaded before the last compaction
//		history.Conversation{Session: session, TurnsOnly: true},
//		history.TurnStart{Session: session},
//		history.TurnRounds{Session: session},
//	)
//	steps := &agent.Agent{Compactor: compactor, Prompt: prompt, Tools: []chat.Toolbox{known}}
//
// The agent declares the tool and answers its calls. A compactor refuses a prompt that shows skills while no tool is
// declared, and one without [Loaded] whose agent has the skills among its tools. Without an agent, declare
// [Skills.Declared] and call [Skills.Answer].
//
// # What it costs
//
// The catalogue takes at most a twentieth of the prompt's budget, and what was loaded at most a quarter. What was loaded
// stands in the result of the tool, once. When that result is compacted or cleared, [Loaded] shows it, behind the
// summary, until the agent lets it go. If there is no room for all, the longest unused goes first, and
// [Skills].OnLetGo is called. Both elements show the same bytes until something is compacted, cleared, loaded anew or
// let go, so that the provider's cache stays valid.
//
// What was loaded is kept in the session, by custom entries: it outlives compactions and restarts, is the same in every
// process, and a branch has what was loaded on its path. A file that changes on disk later changes nothing until it is
// loaded again.
//
// # What goes wrong
//
// A skill that is not as it should be is a [Note], or is left out with one; it never fails a render. The texts of
// skills are data: they cannot close the tags around them, nor open others of promptree's. Read are only regular files
// of UTF-8 text, each within its skill's folder; symbolic links in a skill's folder are not followed, and sizes and
// numbers are bounded. A file that is saved while it is read is read as it was, as it is, or not at all.
//
// A request that only fits without some of the history (policy.Overflow, or a prompt that prunes history) may leave out
// the result that shows a skill; [Loaded] does not show it in that request, and does so once the result is compacted.
//
// The session holds the texts of what was loaded twice, in the result and in a custom entry
// ([history.Session.Customs]): to erase one, erase both.
//
// Whoever can write to the folders tells the agent what to do. Show it only folders that its user trusts.
package skills
