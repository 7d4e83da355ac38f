//go:build tools

// Package witness pins llm-d-inference-sim, an emulator of vLLM that this project did not write. The integration
// tests ask it whether the vLLM adapter reads what a server that knows nothing of Fareway says of itself.
package witness

import _ "github.com/llm-d/llm-d-inference-sim/cmd/llm-d-inference-sim"
