// Asks OpenAI's tiktoken, of which this is its own build for JavaScript, for what the package and its tests need.
//
// First, the classes of all characters, to ../tables/classes.bin: a pattern that is one class finds all characters of the class in a
// text of all characters. And those of \p{P} and \p{S}, to ../tables/punctuation.bin: where runs of them start and end.
//
// The file is a table in two stages: the number of each block of 128 characters, then the blocks, a byte a character.
import { get_encoding, Tiktoken } from "tiktoken";
import { writeFileSync } from "node:fs";

const BLOCK = 128;
const LIMIT = 0x110000;

// The bits are those of type Class.
const patterns = [
  ["\\p{Ll}+", 1],
  ["[\\p{Lu}\\p{Lt}]+", 2],
  ["[\\p{Lm}\\p{Lo}]+", 4],
  ["\\p{M}+", 8],
  ["\\p{N}+", 16],
  ["[^\\S\\r\\n]+", 32],
  ["[\\r\\n]+", 64],
  ["[^\\s\\p{L}\\p{N}\\p{M}]+", 128],
];

const isSurrogate = (c) => c >= 0xd800 && c < 0xe000;
let all = "";
for (let c = 0; c < LIMIT; c++) if (!isSurrogate(c)) all += String.fromCodePoint(c);

// An encoding in which every byte is a token of its own, so that tokens are the bytes of what the pattern found.
const bytes = Array.from({ length: 256 }, (_, b) => Buffer.from([b]).toString("base64"));
const charactersOf = (pattern) => {
  const encoding = new Tiktoken(`! 0 ${bytes.join(" ")}`, {}, pattern);
  const found = Buffer.from(Uint8Array.from(encoding.encode_ordinary(all))).toString("utf8");
  encoding.free();
  return found;
};

const classes = new Uint8Array(LIMIT);
for (const [pattern, bit] of patterns) {
  for (const character of charactersOf(pattern)) classes[character.codePointAt(0)] += bit;
}
for (let c = 0; c < LIMIT; c++) {
  if (isSurrogate(c)) classes[c] = 128;
  const bits = classes[c];
  if (bits === 0 || (bits & (bits - 1)) !== 0) throw new Error(`U+${c.toString(16)} is not of one class: ${bits}`);
}

const blocks = new Map();
const index = [];
for (let c = 0; c < LIMIT; c += BLOCK) {
  const block = classes.slice(c, c + BLOCK);
  const key = block.join();
  if (!blocks.has(key)) blocks.set(key, { number: blocks.size, block });
  index.push(blocks.get(key).number);
}
if (blocks.size > 256) throw new Error(`${blocks.size} blocks do not fit a byte`);
writeFileSync("../tables/classes.bin", Buffer.concat([Uint8Array.from(index), ...[...blocks.values()].map((b) => b.block)]));

const punctuation = new Set([...charactersOf("[\\p{P}\\p{S}]+")].map((c) => c.codePointAt(0)));
const bounds = [];
for (let c = 0; c < LIMIT; c++) if (punctuation.has(c) !== punctuation.has(c - 1)) bounds.push(c);
writeFileSync("../tables/punctuation.bin", Buffer.from(Uint32Array.from(bounds).buffer));

// Second, what it counts in random texts, to the testdata of package tiktoken. Every character of some blocks is drawn that Unicode
// has had since version 15.1 or 16, for no other implementation may know them.
let state = 1;
const random = (n) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
};
const newer = [
  [0x0897, 0x0897], [0x1c89, 0x1c8a], [0xa7cb, 0xa7cd], [0xa7da, 0xa7dc], [0x105c0, 0x105f3], [0x10d40, 0x10d65],
  [0x10d69, 0x10d6d], [0x11380, 0x113b5], [0x116d0, 0x116e3], [0x11bc0, 0x11be0], [0x1611e, 0x16139], [0x16d40, 0x16d79],
  [0x1ccf0, 0x1ccf9], [0x1e5d0, 0x1e5f0], [0x2ebf0, 0x2ee5d], [0x13460, 0x143fa],
];
const pieces = [
  "a", "the", " The", "HTTP", "é", "É", "中文", "ش", "\u0301", "'s", "'LL", "'", "1", "23", "½", " ", "  ", "\t", "\n", "\r\n",
  "\u00a0", "\u2028", ".", "/", " (", "{}", "_", "🙂", "👩‍👧", "𐐀", "\u0000", "internationalization", "Straße",
];
const encodings = ["o200k_base", "cl100k_base"].map((name) => [name, get_encoding(name)]);
const cases = [];
for (let i = 0; i < 400; i++) {
  let text = "";
  for (let n = 1 + random(16); n > 0; n--) {
    const [first, last] = newer[random(newer.length)];
    text += random(3) === 0 ? String.fromCodePoint(first + random(last - first + 1)) : pieces[random(pieces.length)];
  }
  const tokens = Object.fromEntries(encodings.map(([name, e]) => [name, e.encode_ordinary(text).length]));
  cases.push({ text, tokens });
}
writeFileSync("../../../tiktoken/testdata/tiktoken.json", "[\n" + cases.map((c) => JSON.stringify(c)).join(",\n") + "\n]\n");
