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
	// Malformed: a part of a known type has not the form that its type has. It is kept as an opaque part.
	Malformed Why = "malformed"
)

// Leftover is something of a wire format that has no place in a message, or another place.
type Leftover struct {
	Why Why
	// What it is: the path of a field or a type, such as "content.text.citations".
	What string
	// Err of what is malformed.
	Err error
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

// Malformed adds an error.
func (l *Leftovers) Malformed(what string, err error) {
	*l = append(*l, Leftover{Malformed, what, err})
}

// Err returns the first error of what is malformed.
func (l Leftovers) Err() error {
	for _, left := range l {
		if left.Err != nil {
			return left.Err
		}
	}
	return nil
}
