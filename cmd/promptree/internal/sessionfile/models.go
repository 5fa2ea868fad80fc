package sessionfile

import (
	"fmt"
	"os"

	"github.com/promptree-go/promptree/sizing/modelinfo"
)

// ModelsUsage describes the flag -models.
const ModelsUsage = "read windows and prices of models from this JSON of models.dev, LiteLLM or catwalk, over those that the program has"

// Models returns the table of models, with the catalogue in a file over it if one is named.
func Models(path string) (*modelinfo.Table, error) {
	if path == "" {
		return modelinfo.Published(), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("-models: %w", err)
	}
	defer file.Close()
	table, err := modelinfo.Read(file)
	if err != nil {
		return nil, fmt.Errorf("-models: %s: %w", path, err)
	}
	return table, nil
}
