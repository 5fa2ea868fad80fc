module github.com/promptree-go/promptree/examples/service

go 1.26.0

replace (
	github.com/promptree-go/promptree => ../..
	github.com/promptree-go/promptree/history/postgres => ../../history/postgres
	github.com/promptree-go/promptree/summarize/jobs => ../../summarize/jobs
)

require (
	github.com/jackc/pgx/v5 v5.13.0
	github.com/promptree-go/promptree v0.0.0
	github.com/promptree-go/promptree/history/postgres v0.0.0
	github.com/promptree-go/promptree/summarize/jobs v0.0.0
	github.com/riverqueue/river v0.51.2
	github.com/riverqueue/river/riverdriver/riverpgxv5 v0.51.2
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/riverqueue/river/riverdriver v0.51.2 // indirect
	github.com/riverqueue/river/rivershared v0.51.2 // indirect
	github.com/riverqueue/river/rivertype v0.51.2 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.2.0 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
