package sizing

import "math"

// What the tokens of a text are estimated from. The base's tokens say most. Tokenizers differ in how they split
// identifiers, digits and punctuation, so the other features say where the provider's departs from the base.
const (
	featureText      = iota // tokens of texts, by the base
	featureArguments        // tokens of the names and arguments of tool calls, by the base: JSON that the provider writes anew
	featureLetters          // groups of 4 letters
	featureDigits
	featureSymbols // characters that are no letter, digit or white space
	featureMessages
	featureCalls
	featureCount
)

// features of a text, a message or several, and the tokens that are counted elsewhere (media).
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

// What is known of any provider before its first report: how much a feature takes, how sure that is, and the most that is
// ever believed. Tokenizers of this generation make 0.9 to 1.4 tokens of one of another's; a message is wrapped in a
// handful of tokens, and a tool call in some tens, for its name, id and structure.
var (
	priorWeight = [featureCount]float64{featureText: 1.1, featureArguments: 1.1, featureMessages: 5, featureCalls: 30}
	priorError  = [featureCount]float64{0.15, 0.15, 0.3, 0.3, 0.3, 5, 30}
	mostWeight  = [featureCount]float64{3, 3, 2, 2, 2, 100, 500}
)

const (
	noise      = 0.08  // the typical error of an estimate that could not be better, as a part of it
	smallNoise = 8     // and in tokens
	forgetting = 0.005 // of the first uncertainty comes back with each observation
	farOff     = 3     // typical errors, beyond which an observation counts no more than that
)

// regression fits weights to observations one at a time: recursive least squares on relative errors, started from the
// prior, slowly forgetting, with weights held between 0 and the most that is believed. Its zero value knows the prior.
type regression struct {
	begun       bool
	weights     [featureCount]float64
	uncertainty [featureCount][featureCount]float64 // covariance of the weights
}

func (r *regression) begin() {
	if r.begun {
		return
	}
	r.begun, r.weights = true, priorWeight
	for i, e := range priorError {
		r.uncertainty[i][i] = e * e
	}
}

// estimate is the tokens that something of these features takes.
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

// learn takes what something of these features took.
func (r *regression) learn(f features, tokens float64) {
	r.begin()
	estimate := r.estimate(f)
	scale := max(estimate, tokens, 50) // so that large and small observations teach alike
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
	most := farOff * math.Sqrt(spread)
	miss := min(max((tokens-estimate)/scale, -most), most)
	for i := range r.weights {
		r.weights[i] = min(max(r.weights[i]+uz[i]/spread*miss, 0), mostWeight[i])
		for j := range uz {
			r.uncertainty[i][j] -= uz[i] * uz[j] / spread
		}
	}
	for i, e := range priorError {
		r.uncertainty[i][i] = min(r.uncertainty[i][i]+forgetting*e*e, e*e)
	}
}

// errorRecord remembers how far estimates were off, before they were learnt from.
type errorRecord struct {
	n, squares        float64 // of relative errors, recent ones more than old ones
	reported, guessed float64 // recent errors of estimates with the reports of answers and without
}

const (
	firstError    = 0.15 // the typical error before anything was observed,
	firstWeight   = 4    // which counts as that many observations
	errorMemory   = 0.98 // what an error counts an observation later
	expertMemory  = 0.9  // the same, for which way of estimating is better
	smallestError = 200  // increments below that many tokens do not count in full
)

// add takes two estimates of something that took that many tokens: with the reports of answers, and without.
func (e *errorRecord) add(reported, guessed, tokens float64) {
	scale := max(tokens, smallestError)
	a, b := math.Abs(tokens-reported)/scale, math.Abs(tokens-guessed)/scale
	miss := a
	if !e.trustReports() {
		miss = b
	}
	e.reported, e.guessed = expertMemory*e.reported+a, expertMemory*e.guessed+b
	e.n = errorMemory*e.n + 1
	e.squares = errorMemory*e.squares + min(miss, 1)*min(miss, 1)
}

// trustReports tells that the tokens reported with an answer are what it takes when it is sent back.
func (e *errorRecord) trustReports() bool { return e.reported <= e.guessed }

func (e *errorRecord) margin() float64 {
	return 2 * math.Sqrt((firstWeight*firstError*firstError+e.squares)/(firstWeight+e.n))
}
