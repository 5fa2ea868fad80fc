package sizing

import "math"

// The features from which the tokens of a text are estimated. The base's tokens matter most. Tokenizers differ in how
// they split identifiers, digits and punctuation, so the other features measure how the provider's tokenizer differs
// from the base.
const (
	featureText = iota // tokens of texts, by the base
	// Tokens of the names and arguments of tool calls, by the base. The provider encodes this JSON in its own way.
	featureArguments
	featureLetters // groups of 4 letters
	featureDigits
	featureSymbols // characters that are not a letter, digit or white space
	featureMessages
	featureCalls
	featureCount
)

// features of a text, or of one or several messages, and the tokens that are counted elsewhere (media).
type features struct {
	x     [featureCount]float64
	fixed float64
}

func (f features) plus(g features) features {
	for i := range f.x {
		f.x[i] += g.x[i]
	}
	f.fixed += g.fixed
	return f
}

func (f features) minus(g features) features {
	for i := range f.x {
		f.x[i] -= g.x[i]
	}
	f.fixed -= g.fixed
	return f
}

// The prior, for any provider before its first report: the weight of each feature, its uncertainty, and the largest
// weight allowed. A token of one current tokenizer is 0.9 to 1.4 tokens of another. A message adds a few tokens for its
// frame, and a tool call some tens for its name, id and structure.
var (
	priorWeight = [featureCount]float64{featureText: 1.1, featureArguments: 1.1, featureMessages: 5, featureCalls: 30}
	priorError  = [featureCount]float64{0.15, 0.15, 0.3, 0.3, 0.3, 5, 30}
	maxWeight   = [featureCount]float64{3, 3, 2, 2, 2, 100, 500}
)

const (
	noise      = 0.08  // the typical relative error of the best possible estimate
	smallNoise = 8     // noise of small texts, in tokens
	forgetting = 0.005 // the fraction of the prior uncertainty that returns with each observation
	maxErrors  = 3     // the number of typical errors at which an observation's weight is capped
)

// regression fits weights to observations one at a time by recursive least squares on relative errors, starting from
// the prior and slowly forgetting, with weights held between 0 and the largest allowed. Its zero value holds the prior.
type regression struct {
	begun       bool
	weights     [featureCount]float64
	uncertainty [featureCount][featureCount]float64 // covariance of the weights
}

// estimate returns the tokens that something of these features takes.
func (r *regression) estimate(f features) float64 {
	weights := &r.weights
	if !r.begun {
		weights = &priorWeight
	}
	n := f.fixed
	for i, x := range f.x {
		n += weights[i] * x
	}
	return n
}

// learn updates the weights from the tokens that something of these features took.
func (r *regression) learn(f features, tokens float64) {
	if !r.begun {
		r.begun, r.weights = true, priorWeight
		for i, e := range priorError {
			r.uncertainty[i][i] = e * e
		}
	}
	estimate := r.estimate(f)
	scale := max(estimate, tokens, 50) // so that large and small observations have the same weight
	var z, uz [featureCount]float64
	for i, x := range f.x {
		z[i] = x / scale
	}
	spread := noise*noise + (smallNoise/scale)*(smallNoise/scale)
	for i := range uz {
		for j := range z {
			uz[i] += r.uncertainty[i][j] * z[j]
		}
	}
	for i := range z {
		spread += z[i] * uz[i]
	}
	if !(spread > 0) || math.IsInf(spread, 0) {
		return
	}
	bound := maxErrors * math.Sqrt(spread)
	miss := min(max((tokens-estimate)/scale, -bound), bound)
	for i := range r.weights {
		r.weights[i] = min(max(r.weights[i]+uz[i]/spread*miss, 0), maxWeight[i])
		for j := range uz {
			r.uncertainty[i][j] -= uz[i] * uz[j] / spread
		}
	}
	for i, e := range priorError {
		r.uncertainty[i][i] = min(r.uncertainty[i][i]+forgetting*e*e, e*e)
	}
}

// errorRecord remembers the errors of estimates, each made before its report was learnt from.
type errorRecord struct {
	n, squares        float64 // relative errors, weighted towards recent ones
	reported, guessed float64 // recent errors of estimates that use the reports of answers, and of those that do not
}

const (
	firstError    = 0.15 // the typical error before the first observation
	firstWeight   = 4    // the number of observations that firstError counts as
	errorMemory   = 0.98 // the decay of an error's weight with each observation
	choiceMemory  = 0.9  // the decay of errorRecord.reported and guessed, likewise
	smallestError = 200  // increments of fewer tokens are weighted less
)

// add records the errors of two estimates for something that took that many tokens: with the reports of answers, and
// without.
func (e *errorRecord) add(reported, guessed, tokens float64) {
	scale := max(tokens, smallestError)
	a, b := math.Abs(tokens-reported)/scale, math.Abs(tokens-guessed)/scale
	miss := a
	if !e.trustReports() {
		miss = b
	}
	e.reported, e.guessed = choiceMemory*e.reported+a, choiceMemory*e.guessed+b
	e.n = errorMemory*e.n + 1
	e.squares = errorMemory*e.squares + min(miss, 1)*min(miss, 1)
}

// trustReports reports whether the tokens reported with an answer are those that it takes when it is sent back.
func (e *errorRecord) trustReports() bool { return e.reported <= e.guessed }

func (e *errorRecord) margin() float64 {
	return 2 * math.Sqrt((firstWeight*firstError*firstError+e.squares)/(firstWeight+e.n))
}
