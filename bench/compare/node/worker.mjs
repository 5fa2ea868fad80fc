// The JavaScript contestants. Requests come as JSON lines on standard input, one at a time, and are answered in order:
//
//   {"prepare": "name", "job": "count", "with": {…}}   → {"result": …}
//   {"run": "name", "times": 3}                         → {"ns": 123456}
//
// A request that fails is answered with {"error": "…"}. The end of the input ends the program.
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

const now = () => process.hrtime.bigint();

// timed returns the time that a job takes, done several times.
async function timed(times, job) {
	const start = now();
	for (let i = 0; i < times; i++) await job();
	return now() - start;
}

const jobs = {
	// Counts a text. If cold, the memory of words is emptied before each count.
	count({ text, cold, ...table }) {
		const tokenizer = tokenizerOf(table);
		const s = readFileSync(text, 'utf8');
		return {
			result: tokenizer.encode(s).length,
			async run(times) {
				if (!cold) return timed(times, () => tokenizer.encode(s));
				let ns = 0n;
				for (let i = 0; i < times; i++) {
					tokenizer.cache = new LRUCache(cacheSize);
					ns += await timed(1, () => tokenizer.encode(s));
				}
				return ns;
			},
		};
	},

	// Counts a text with Hugging Face's library and a tokenizer.json.
	async countWithFile({ file, text }) {
		const tokenizer = require('tokenizers').Tokenizer.fromFile(file);
		const s = readFileSync(text, 'utf8');
		const count = async () => (await tokenizer.encode(s, null, { addSpecialTokens: false })).getLength();
		return { result: await count(), run: times => timed(times, count) };
	},

	// Renders one user message of chunks with prompt-tsx.
	async promptTSX({ chunks, budget, ...table }) {
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
				return vscpp(tsx.UserMessage, null, ...list.map(({ text }) => vscpp(tsx.TextChunk, null, text)));
			}
		}
		const render = () => new tsx.PromptRenderer({ modelMaxPromptTokens: budget }, Prompt, {}, adapter).render();
		const { tokenCount } = await render();
		return { result: tokenCount, run: times => timed(times, render) };
	},
};

const prepared = new Map();
async function answer(request) {
	if (request.prepare) {
		const { result, run } = await jobs[request.job](request.with);
		prepared.set(request.prepare, run);
		return { result };
	}
	return { ns: Number(await prepared.get(request.run)(request.times)) };
}

for await (const line of createInterface({ input: process.stdin })) {
	let reply;
	try {
		reply = await answer(JSON.parse(line));
	} catch (e) {
		reply = { error: String(e?.message ?? e) };
	}
	process.stdout.write(JSON.stringify(reply) + '\n');
}
