package split

// Most texts are mostly ASCII, in which a byte is a character and the end of a word is easy to find. The splitters in
// this file handle the words that are all ASCII, and leave the others to the general splitters, with which they agree.

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
	if c&letter == 0 {
		if end := otherASCII(s, i, true); end > 0 {
			return end
		}
		return o200kWide(s, i)
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
	if c&letter == 0 {
		if end := otherASCII(s, i, false); end > 0 {
			return end
		}
		return cl100kWide(s, i)
	}
	end := runASCII(s, start+1, letter)
	if beyondASCII(s, end) {
		return cl100kWide(s, i)
	}
	return end
}

// otherASCII returns the end of a word without letters, or 0 if the word or the character after it is not ASCII. If
// slashes is set, slashes may follow symbols as line breaks do.
func otherASCII(s string, i int, slashes bool) int {
	c := ascii[s[i]]
	if c == number {
		end := i + 1
		for end < len(s) && end < i+3 && ascii[s[end]] == number {
			end++
		}
		if end < i+3 && beyondASCII(s, end) {
			return 0
		}
		return end
	}
	start := i
	if s[i] == ' ' {
		start++
	}
	end := runASCII(s, start, Symbol)
	if beyondASCII(s, end) {
		return 0
	}
	if end > start {
		for end < len(s) && (ascii[s[end]] == newline || slashes && s[end] == '/') {
			end++
		}
		return end
	}
	if c&white == 0 {
		return 0
	}
	end = runASCII(s, i, white)
	if beyondASCII(s, end) {
		return 0
	}
	for line := end; line > i; line-- {
		if ascii[s[line-1]] == newline {
			return line
		}
	}
	if end < len(s) && end > i+1 {
		return end - 1
	}
	return end
}
