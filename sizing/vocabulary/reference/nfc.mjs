// Writes nfc.txt, the table of normalization form C as Hugging Face's tokenizers library knows it, which is that of an
// older Unicode than Go's: node nfc.mjs DIRECTORY_OF_NODE_MODULES > ../nfc.txt
//
// A line c=d… says what a character decomposes to and is composed of, c>d… what it only decomposes to. A line order:c…
// lists combining marks, or first and last of a range of them, in the order in which they are sorted.
import { createRequire } from "node:module";
const { nfcNormalizer, nfdNormalizer } = createRequire(process.argv[2] + "/")("tokenizers");

const c = nfcNormalizer(), d = nfdNormalizer();
const nfc = (s) => c.normalizeString(s), nfd = (s) => d.normalizeString(s);
const hex = (s) => [...s].map((x) => x.codePointAt(0).toString(16)).join(" ");
const characters = [];
for (let r = 0x80; r < 0x110000; r++) {
  if ((r < 0xac00 || r > 0xdfff) && r !== 0xfffe && r !== 0xffff) characters.push(String.fromCodePoint(r)); // Hangul is computed
}

const lines = [];
for (const x of characters) {
  const parts = nfd(x);
  if (parts !== x) lines.push(`${hex(x)}${nfc(parts) === x ? "=" : ">"}${hex(parts)}`);
}

const swaps = (a, b) => nfd("a" + a + b) === "a" + b + a;
const orders = []; // lists of marks of equal order, ascending
for (const x of characters) {
  if (!/\p{M}/u.test(x) || nfd(x) !== x || !(swaps("\u0345", x) || swaps(x, "\u0334"))) continue;
  let at = 0;
  while (at < orders.length && swaps(x, orders[at][0])) at++;
  if (at < orders.length && !swaps(orders[at][0], x)) orders[at].push(x);
  else orders.splice(at, 0, [x]);
}
orders.forEach((marks, i) => {
  const ranges = [];
  for (const x of marks.map((m) => m.codePointAt(0))) {
    if (ranges.length && ranges.at(-1)[1] === x - 1) ranges.at(-1)[1] = x;
    else ranges.push([x, x]);
  }
  lines.push(`${i + 1}:${ranges.map(([a, b]) => (a === b ? a.toString(16) : `${a.toString(16)}-${b.toString(16)}`)).join(" ")}`);
});
process.stdout.write(lines.join("\n") + "\n");
