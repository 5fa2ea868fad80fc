// Counts the tokens of texts with Hugging Face's tokenizers library: node counts.mjs DIRECTORY_OF_NODE_MODULES
// tokenizer.json, with a list of texts as JSON on standard input, writes a list of numbers.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
const { Tokenizer } = createRequire(process.argv[2] + "/")("tokenizers");

const tokenizer = Tokenizer.fromFile(process.argv[3]);
const counts = [];
for (const text of JSON.parse(readFileSync(0, "utf8"))) {
  counts.push((await tokenizer.encode(text, null, { addSpecialTokens: false })).getLength());
}
process.stdout.write(JSON.stringify(counts));
