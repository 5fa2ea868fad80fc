package refusal

// LooksTooLarge is the rule beside the list of wordings.
var LooksTooLarge = looksTooLarge
