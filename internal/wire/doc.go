// Package wire holds what the codecs of wire formats share. A package below it is the codec of one format: it reads JSON
// into messages and what had no place there, and writes it. The readers of providers' answers, of requests that an SDK holds
// and of recordings use the same one, so that the same JSON is the same message to all of them.
//
// An [Object] is a JSON object that is read strictly and knows what of it was not read. [Leftovers] list what has no place
// in a message.
package wire
