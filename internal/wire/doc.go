// Package wire holds what the codecs of wire formats share. A package below it reads one format: JSON becomes messages, and
// what has no place there is left over. What of a format stands in an opaque part or a signature, the package writes too, as
// items.Encode does; the rest is written by the provider's module, into the types of its SDK, whose fields its callers see.
// The readers of providers' answers, of requests that an SDK holds and of recordings use the same one, so that the same JSON
// is the same message to all of them.
//
// An [Object] is a JSON object that is read strictly and knows what of it was not read. [Leftovers] list what has no place
// in a message.
package wire
