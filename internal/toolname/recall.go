package toolname

// The tools of package recall, which read and search a session.
const (
	ReadSession   = "read_session"
	SearchSession = "search_session"
)

// IsLookUp reports whether a tool is one of these. What they return was said before: it is the first to be cleared, and
// no summary repeats it as new.
func IsLookUp(tool string) bool { return tool == ReadSession || tool == SearchSession }
