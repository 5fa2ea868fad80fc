// The peers in JavaScript: node worker.mjs JOB '{…}'. It prints the count that the job makes, and then, for each line on
// standard input, the nanoseconds that the job takes once. The end of the input ends the program.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(import.meta.url);
const { createTokenizer, getRegexByEncoder, getSpecialTokensByEncoder } = require('@microsoft/tiktokenizer');
const { LRUCache } = require('@microsoft/tiktokenizer/dist/lru.js');

// The number of words that prompt-tsx's tokenizer remembers.
const cacheSize = 64000;

const tokenizerOf = ({ encoding, ranks }) =>
	createTokenizer(ranks, getSpecialTokensByEncoder(encoding), getRegexByEncoder(encoding), cacheSize);

const jobs = {
	// Counts a text. If cold, the memory of words is emptied before each count.
	count({ text, cold, ...table }) {
		const tokenizer = tokenizerOf(table);
		const s = readFileSync(text, 'utf8');
		return {
			prepare: () => cold && (tokenizer.cache = new LRUCache(cacheSize)),
			run: () => tokenizer.encode(s).length,
		};
	},

	// Counts a text with Hugging Face's library and a tokenizer.json.
	countWithFile({ file, text }) {
		const tokenizer = require('tokenizers').Tokenizer.fromFile(file);
		const s = readFileSync(text, 'utf8');
		return { run: async () => (await tokenizer.encode(s, null, { addSpecialTokens: false })).getLength() };
	},

	// Renders one user message of chunks with prompt-tsx.
	promptTSX({ chunks, budget, ...table }) {
		const tsx = require('@vscode/prompt-tsx');
		const tokenizer = tokenizerOf(table);
		const count = text => (text ? tokenizer.encode(text).length : 0);
		const adapter = {
			mode: tsx.OutputMode.OpenAI,
			tokenLength: part => (part.type === tsx.Raw.ChatCompletionContentPartKind.Text ? count(part.text) : 0),
			countMessageTokens: message => 3 + count(message.role) + count(message.content),
		};
		const list = JSON.parse(readFileSync(chunks, 'utf8'));
		class Prompt extends tsx.PromptElement {
			render() {
				return vscpp(tsx.UserMessage, null, ...list.map(text => vscpp(tsx.TextChunk, null, text)));
			}
		}
		return { run: async () => (await new tsx.PromptRenderer({ modelMaxPromptTokens: budget }, Prompt, {}, adapter).render()).tokenCount };
	},
};

const [job, given] = process.argv.slice(2);
const { prepare, run } = jobs[job](JSON.parse(given));
console.log(await run());
for await (const _ of createInterface({ input: process.stdin })) {
	prepare?.();
	const start = process.hrtime.bigint();
	await run();
	console.log(String(process.hrtime.bigint() - start));
}
