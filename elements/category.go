package elements

// Category says what the content of an element is, so that a breakdown can say where a prompt's tokens are. The zero
// value is unset: the content then has the category of the element around it, and is [CategoryOther] at the root.
type Category uint8

// The categories.
const (
	CategoryUnset Category = iota
	// CategoryInstructions is text from instruction files, such as AGENTS.md.
	CategoryInstructions
	// CategorySkills is the catalogue of skills, and skills that were loaded.
	CategorySkills
	// CategoryTools is tool definitions: those of a [Tool] and those beside the prompt, which need no category, and
	// definitions that are shown as text.
	CategoryTools
	// CategoryFiles is the content of files that the application shows.
	CategoryFiles
	// CategoryHistory is the conversation. Elements with the marker [ShowsHistory] have it unless they say otherwise.
	CategoryHistory
	// CategoryOther is anything else, such as the application's own system text.
	CategoryOther
)

// categoryNames are the names of the categories in JSON.
var categoryNames = [...]string{"", "instructions", "skills", "tools", "files", "history", "other"}

// String returns the name of the category, such as "skills"; "" if it is unset, and "other" for an unknown value.
func (c Category) String() string { return categoryNames[min(c, CategoryOther)] }

// MarshalText returns the name of the category.
func (c Category) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the name of a category. A name that it does not know is that of [CategoryOther].
func (c *Category) UnmarshalText(name []byte) error {
	*c = CategoryOther
	for i, known := range categoryNames {
		if known == string(name) {
			*c = Category(i)
		}
	}
	return nil
}
