package split

// Most texts are mostly ASCII, in which a byte is a character and the end of a word is easy to find. The splitters in
// this file handle the words of ASCII letters, and leave the others to the general splitters, with which they agree.

// ascii maps the bytes that are a character by themselves to their classes; the others have none.
var ascii = func() (classes [256]Class) {
	for b := range rune(128) {
		classes[b] = ClassOf(b)
	}
	return classes
}()

// beyondASCII reports whether a character that is not ASCII starts at i.
func beyondASCII(s string, i int) bool { return i < len(s) && s[i] >= 128 }

// runASCII returns the end of the run of bytes from i on that are of these classes.
func runASCII(s string, i int, set Class) int {
	for i < len(s) && ascii[s[i]]&set != 0 {
		i++
	}
	return i
}

// o200k returns the end of the word of o200k_base that starts at i.
func o200k(s string, i int) int {
	start := i
	c := ascii[s[i]]
	if c&(space|Symbol) != 0 && i+1 < len(s) {
		start++
		c = ascii[s[start]]
	}
	switch {
	case c == 0:
		return o200kWide(s, i)
	case c&letter == 0:
		return unlettered(s, i, rest, true)
	}
	end := start + 1
	if c == upper {
		end = runASCII(s, end, upper)
	}
	end = runASCII(s, end, lower)
	if end == len(s) {
		return end
	}
	if b := s[end]; b == '\'' {
		return end + contraction(s, end)
	} else if b >= 128 {
		return o200kWide(s, i)
	}
	return end
}

// cl100k returns the end of the word of cl100k_base that starts at i.
func cl100k(s string, i int) int {
	if s[i] == '\'' {
		if n := contraction(s, i); n > 0 {
			return i + n
		}
	}
	start := i
	c := ascii[s[i]]
	if c&(space|Symbol) != 0 && i+1 < len(s) {
		start++
		c = ascii[s[start]]
	}
	switch {
	case c == 0:
		return cl100kWide(s, i)
	case c&letter == 0:
		return unlettered(s, i, rest, false)
	}
	end := runASCII(s, start+1, letter)
	if beyondASCII(s, end) {
		return cl100kWide(s, i)
	}
	return end
}
