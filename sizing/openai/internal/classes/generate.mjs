// Writes the classes of all characters as OpenAI's tiktoken sees them to tables/classes.bin, by asking it: a pattern that is one class finds
// all characters of the class in a text of all characters.
//
// The file is a table in two stages: the number of each block of 128 characters, then the blocks, a byte a character.
import { Tiktoken } from "tiktoken";
import { writeFileSync } from "node:fs";

const BLOCK = 128;
const LIMIT = 0x110000;

// The bits are those of type class in split.go.
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
writeFileSync("../../tables/classes.bin", Buffer.concat([Uint8Array.from(index), ...[...blocks.values()].map((b) => b.block)]));
