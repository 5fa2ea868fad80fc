// Command service is an agent behind HTTP.
package main
