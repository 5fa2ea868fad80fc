package policy

// Overflow says what to do about requests that the provider refused as too large, and about prompts that no compaction
// makes fit.
type Overflow struct {
	// LastResort says what to do about a prompt that no compaction makes fit, whatever the triggers are. Defaults to
	// [ResortError].
	LastResort LastResort
}

// LastResort says what to do about a prompt that nothing makes fit.
type LastResort string

// The last resorts.
const (
	// ResortError returns the error, unless history that is Droppable can be left out.
	ResortError LastResort = ""
	// ResortTruncate leaves the oldest messages out of the request ([history.Truncator]): those of the conversation first, then
	// what stands in front of it, such as the summary of an earlier compaction. The session keeps everything.
	ResortTruncate LastResort = "truncate"
	// ResortDrop renders once more. This time history may be dropped, the oldest rounds first, and pieces without a
	// priority may be pruned as their own properties say. The session keeps everything.
	ResortDrop LastResort = "drop"
)
