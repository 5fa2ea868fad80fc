package vocabulary_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// texts returns n random texts, the same for the same seed: prose in several scripts, code, JSON, logs, long runs, marks,
// added tokens, and anything. Bytes that are not UTF-8 are not among them, for the reference takes none.
func texts(seed uint64, n int, added []string) []string {
	g := generator{rand.New(rand.NewPCG(seed, 1)), added}
	all := make([]string, n)
	for i := range all {
		all[i] = string([]rune(g.text()))
	}
	return all
}

type generator struct {
	*rand.Rand
	added []string
}

func (g generator) of(list []string) string { return list[g.IntN(len(list))] }

func (g generator) text() string {
	var b strings.Builder
	for n := 1 + g.IntN(4); n > 0; n-- {
		switch g.IntN(12) {
		case 0, 1:
			g.prose(&b, g.of(sentences))
		case 2:
			g.letters(&b)
		case 3, 4:
			g.prose(&b, g.of(code))
		case 5:
			g.json(&b, 3)
		case 6:
			fmt.Fprintf(&b, "2026-%02d-%02dT%02d:%02d:%02d.%03dZ %s [%s-%d] %s: %x\n", 1+g.IntN(12), 1+g.IntN(28), g.IntN(24), g.IntN(60),
				g.IntN(60), g.IntN(1000), g.of([]string{"INFO", "WARN", "error", "DEBUG"}), g.of(identifiers), g.IntN(100), g.of(identifiers), g.Uint64())
		case 7:
			unit := g.of(runs)
			for n := 1 << g.IntN(8); n > 0; n-- {
				b.WriteString(unit)
			}
		case 8:
			for n := g.IntN(12); n > 0; n-- {
				b.WriteString(g.of(bases))
				for g.IntN(3) > 0 {
					b.WriteString(g.of(marks))
				}
			}
		case 9:
			for n := 1 + g.IntN(3); n > 0 && len(g.added) > 0; n-- {
				token := g.of(g.added)
				if g.IntN(6) == 0 {
					token = token[:g.IntN(len(token))]
				}
				b.WriteString(g.of(around) + token + g.of(around))
			}
		case 10:
			for n := g.IntN(20); n > 0; n-- {
				b.WriteString(g.of(pieces))
			}
		default:
			for n := g.IntN(8); n > 0; n-- {
				r := rune(g.IntN(1 << (7 + g.IntN(15))))
				if utf8.ValidRune(r) {
					b.WriteRune(r)
				}
			}
		}
		b.WriteString(g.of(around))
	}
	return b.String()
}

// prose writes a text, sometimes only a part of it, and sometimes with other letters, spaces and cases.
func (g generator) prose(b *strings.Builder, text string) {
	words := strings.SplitAfter(text, " ")
	first := g.IntN(len(words))
	for _, word := range words[first : first+1+g.IntN(len(words)-first)] {
		switch g.IntN(16) {
		case 0:
			word = strings.ToUpper(word)
		case 1:
			word = strings.Repeat(word, 1+g.IntN(4))
		case 2:
			word = strings.TrimRight(word, " ")
		case 3:
			word += g.of(around)
		case 4:
			r := []rune(word)
			g.Shuffle(len(r), func(i, j int) { r[i], r[j] = r[j], r[i] })
			word = string(r)
		}
		b.WriteString(word)
	}
}

// letters writes words of random letters of one script.
func (g generator) letters(b *strings.Builder) {
	first := alphabets[g.IntN(len(alphabets))]
	for n := 1 + g.IntN(6); n > 0; n-- {
		for k := 1 + g.IntN(12); k > 0; k-- {
			b.WriteRune(first[0] + rune(g.IntN(int(first[1]-first[0]))))
		}
		b.WriteString(g.of(around))
	}
}

func (g generator) json(b *strings.Builder, depth int) {
	switch g.IntN(5 + depth) {
	case 0:
		fmt.Fprintf(b, "%q", g.of(sentences))
	case 1:
		fmt.Fprint(b, g.IntN(1<<g.IntN(31)))
	case 2:
		fmt.Fprint(b, g.NormFloat64())
	case 3:
		b.WriteString(g.of([]string{"true", "false", "null"}))
	case 4:
		fmt.Fprintf(b, "%q", g.of(identifiers))
	default:
		between := g.of([]string{", ", ",", ",\n  ", ",\n\t\t"})
		b.WriteString("{")
		for n := g.IntN(4); n >= 0; n-- {
			fmt.Fprintf(b, "%q:", g.of(identifiers))
			g.json(b, depth-1)
			if n > 0 {
				b.WriteString(between)
			}
		}
		b.WriteString("}")
	}
}

var (
	sentences = []string{
		"The quick brown fox doesn't jump over the lazy dog; it's asleep, isn't it? We'll see what they've done by 10:45.",
		"Съешь же ещё этих мягких французских булок, да выпей чаю. Не откладывай на завтра то, что можно сделать сегодня!",
		"人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。今天是2026年11月27日。",
		"すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。コンピューターのテストです。",
		"모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 안녕하세요, 반갑습니다!",
		"يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا، ٢٠٢٦.",
		"सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। १२३",
		"คนทุกคนเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม",
		"כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון.",
		"Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
		"Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi, việc đó rất quan trọng.",
		"Alle Menschen sind frei und gleich an Würde und Rechten geboren. Übergrößenträger heißen Straßenbahnführer.",
		"Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. İstanbul'da ığdır çiçeği. L'été où j'étais là.",
		"সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে। தமிழ் மொழி ಕನ್ನಡ తెలుగు മലയാളം",
	}
	code = []string{
		"func (c *Counter) CountText(text string) int {\n\tif len(text) < 64 {\n\t\treturn c.count(text)\n\t}\n\treturn 0x7F_ff << 3\n}\n",
		"    for i in range(0, 100):\n        if x[i] >= y**2 and not z:\n            print(f\"{i:>4}: {x[i]!r}\")  # done\n\n\n",
		"const f = async (a, b) => { await g(`${a}/${b}`); return {...a, b: b ?? null}; };\r\n\r\n// TODO(you): remove\r\n",
		"<div class=\"row\"><a href=\"https://example.com/a/b?c=d&e=%20f#g\">It's</a>&nbsp;</div>\n<!-- -->\n",
		"SELECT id, COUNT(*) AS n FROM t WHERE name LIKE '%x''y%' GROUP BY 1 ORDER BY n DESC LIMIT 10;\n--\n",
		"#include <stdio.h>\n#define MAX(a,b) ((a)>(b)?(a):(b))\nint main(void){char *p=NULL;return p?p[0]:-1;}\n",
		"diff --git a/x.go b/x.go\nindex 3f2a1b0..9c8d7e6 100644\n--- a/x.go\n+++ b/x.go\n@@ -1,7 +1,7 @@\n-\told()\n+\tnew()\n",
		"| a | b |\n|---|:-:|\n| 1 | **2** |\n\n## Title\n\n* item\n  1. `x`\n\n```sh\n$ ls -la ~/.config && cd ..\n```\n",
	}
	identifiers = []string{"userID", "created_at", "HTTPServer", "x", "max-tokens", "фильтр", "名前", "__init__", "snake_case_name", "aB1cD2", "é"}
	runs        = []string{"a", "A", "ab", " ", "\n", "\t", "\r\n", "-", "=", "0", "12", "é", "中", "かな", "!", "._", "\n ", " \n", "🙂", "\u0301", "▁", "़",
		"ا", "\u200b", "xy z", "//", "\\", "\"", "　", "#", "*", "~~", "가", "\x00"}
	bases = []string{"a", "e", "o", "E", "n", "Å", "é", "ệ", "ü", "и", "か", "ハ", "가", "ᄀ", "ᅡ", "한", "क", "ড", "α", "א", "ا", "=", "<", " ", "1", "中", "\u0b47", "ǭ"}
	marks = []string{"\u0301", "\u0300", "\u0323", "\u0327", "\u0302", "\u0338", "\u3099", "\u309a", "\u11a8", "\u1161", "\u093c", "\u09be", "\u05bc", "\u0345",
		"\u20dd", "\u0344", "\u064b", "\u0653", "\u1dce", "\u0b3e", "\ufe0f", "\u0e49", "\u034f", "\u1abf", "\U0001d165", "\U00011070"}
	around = []string{"", "", "", " ", " ", " ", "  ", "\n", "\n\n", "\t", "\r\n", ".", ", ", "'", "\"", "/", "\u00a0", "\u3000", "▁", "1"}
	pieces = []string{
		"a", "b", "s", "t", "re", "the", " The", "Z", "S", "LL", "HTTP", "é", "É", "ǅ", "ʰ", "ª", "中", "文", "ش", "ก", "ß", "ſ", "'ſ", "K", "龥", "龦", "〇", "⺀", "ー", "・", "゛", "゠",
		"\u0301", "\u0308", "\u0e49", "\u200d", "\ufe0f", "'", "'s", "'S", "'re", "'LL", "'x", "’", "1", "23", "456", "7890", "½", "٣", "𝟘", "Ⅷ", "²",
		" ", " ", " ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", "\r", "\u00a0", "\u3000", "\u0085", "\u2028", "\ufeff", "\v", "\u180e", "\u2009", "\u2000", "\u2001",
		".", ",", "/", "//", "!", "(", ")", "{", "}", "_", "-", "\"", "#", "=", "$", "+", "^", "`", "|", "€", "，", "。", "、", "「", "…", "—", "<|endoftext|>", "<0x0A>", "<unk>", "</s>",
		"🙂", "👩‍👧", "𝔘", "𐐀", "𐐨", "𠀀", "🇩🇪", "\ufffd", "\x00", "\x1b", "\x7f", "\u0378", "\ue000", "\u2ffc", "\U0002ebf0", "\U000105c9", "\U00011de3",
		"return", "function", "Straße", "internationalization", " việc", ".:.:", "\t\t\t", "});\n", "\u212b", "\u1fef", "\u037e", "\u2126", "\uf900", "\ufb1d",
	}
	// alphabets are the first and the last letter of some.
	alphabets = [][2]rune{{'a', 'z'}, {'A', 'z'}, {'а', 'я'}, {'α', 'ω'}, {'א', 'ת'}, {'ا', 'ي'}, {'अ', 'ह'}, {'ก', 'ฮ'}, {'ぁ', 'ん'}, {'一', '龥'},
		{'가', '힣'}, {'ა', 'ჰ'}, {'ա', 'ֆ'}, {'அ', 'ஹ'}, {'À', 'ÿ'}, {'0', '9'}, {'!', '/'}}
)
