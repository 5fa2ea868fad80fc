package wire

// Why is the reason why something is left over.
type Why string

// The reasons.
const (
	// NoPlace: a field has no equivalent in package chat. It is left out.
	NoPlace Why = "no place"
	// Empty: a part that holds nothing. It is left out.
	Empty Why = "empty"
	// Repeated: it repeats what the message says. It is left out.
	Repeated Why = "repeated"
	// Moved: it is in the messages in another place.
	Moved Why = "moved"
)

// Leftover is something of a wire format that has no place in a message, or another place.
type Leftover struct {
	Why Why
	// What it is: the path of a field or a type, such as "content.text.citations".
	What string
}

// Leftovers list what a codec could not place, in the order in which it was met. An empty list means that nothing is lost. A
// nil list takes nothing.
type Leftovers []Leftover

// Add adds something.
func (l *Leftovers) Add(why Why, what string) {
	if l != nil {
		*l = append(*l, Leftover{Why: why, What: what})
	}
}

// Rest adds each field of an object that was not read, below a path.
func (l *Leftovers) Rest(path string, o *Object) {
	for _, name := range o.Rest() {
		if path != "" {
			name = path + "." + name
		}
		l.Add(NoPlace, name)
	}
}
