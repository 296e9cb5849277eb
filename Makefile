DENO = sh .ci/deno
TESTS = tests

.PHONY: help run test check fmt hooks e2e golden manifests chart bench bench-peers build clean interop-ratelimit interop-python interop-llm-python interop-agents interop-bodies interop-openapi interop-h2spec interop-keycloak interop-dex interop-otel interop-monitoring packages screenshots conformance cluster cluster-drills vault-schedules

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' Makefile

run: ## start a gateway with an MCP server and an LLM server to try it on
	@sh .ci/playground $(ARGS)

test: ## run the tests against the source
	@$(DENO) task --quiet test $(ARGS) $(TESTS)

check: ## check format, lint, types and the rules of the repository
	@$(DENO) task --quiet check

fmt: ## format all files
	@$(DENO) fmt

hooks: ## format staged files before each commit
	git config core.hooksPath .githooks

e2e: build ## run the end-to-end tests against the executable
	@$(DENO) task --quiet e2e $(ARGS)

golden: manifests ## update the golden files, the reference and the definitions; read the diff
	@$(DENO) task --quiet golden

manifests: ## update deploy/crds.yaml and the schema of the values of the chart
	@$(DENO) run -A main.ts schema --crds > deploy/crds.yaml
	@$(DENO) run -A .ci/chart_schema.ts

chart: ## render deploy/managed.yaml and deploy/shared.yaml; needs Helm
	@$(DENO) run -A .ci/render_chart.ts $(HELM)

bench: ## compare with nginx and a naive proxy; ARGS="get post" for some rows
	@$(DENO) task --quiet bench $(ARGS)

bench-peers: ## compare with nginx and agentgateway (AGENTGATEWAY_BIN), and write the table of docs/performance.md
	@$(DENO) task --quiet bench-peers

drills: ## attack a gateway and print what that costs
	@$(DENO) run -A tests/drills/drills.ts $(ARGS)

vault-schedules: ## run a million random schedules of the vault; VAULT_SEED=1 for others
	@VAULT_SCHEDULES=$${VAULT_SCHEDULES:-1000000} $(DENO) run -A tests/drills/drills.ts vault

build: ## build the executable, dist/gateway
	@$(DENO) task --quiet build

packages: build ## make the packages of a release of this platform, in dist/release
	@rm -rf dist/release && mkdir dist/release && cp -L dist/gateway "dist/release/gateway-$$(uname -s | sed 's/Linux/linux/;s/Darwin/macos/')-$$(uname -m | sed 's/x86_64/x64/;s/aarch64/arm64/')"
	@$(DENO) run -A .ci/packages/packages.ts dist/release "$${DOWNLOADS:-https://gateway.example/download}" "$${HOMEPAGE:-https://gateway.example}"
	@ls -l dist/release

screenshots: ## take the pictures of the documentation; needs Chromium and tmux
	@$(DENO) run -A .ci/screenshots/screenshots.ts

conformance: ## run the conformance suite of the Gateway API; needs Go and root
	@sh .ci/conformance $(ARGS)

cluster: ## test the chart and managed proxies with a real API server; needs Go and root
	@CLUSTER_TESTS=1 sh .ci/conformance $(ARGS)

cluster-drills: ## end, freeze and flood a real API server, and print figures; needs Go and root
	@PROGRAM=tests/conformance/drills/drills.ts sh .ci/conformance $(ARGS)

interop-ratelimit: ## test against envoyproxy/ratelimit; needs Go and Redis
	@sh .ci/interop/ratelimit $(ARGS)

interop-python: ## run real MCP clients and servers in Python; needs Python
	@sh .ci/interop/python $(ARGS)

interop-llm-python: ## call LLM APIs with the official Python SDKs; needs Python
	@sh .ci/interop/llm_python $(ARGS)

interop-agents: ## run agents and SDKs on every LLM provider; needs npm and Python
	@sh .ci/interop/agents $(ARGS)

interop-keycloak: ## log in at a real Keycloak; needs Java, Maven and Python
	@sh .ci/interop/keycloak $(ARGS)

interop-dex: ## log in at a real Dex; needs Go, git and Python
	@sh .ci/interop/dex $(ARGS)

interop-otel: ## export to a real OpenTelemetry collector; needs Go
	@sh .ci/interop/otel $(ARGS)

interop-monitoring: ## check alert rules and dashboard; needs Prometheus
	@sh .ci/interop/monitoring $(ARGS)

interop-h2spec: ## run h2spec against a gateway with TLS; needs Go
	@sh .ci/interop/h2spec $(ARGS)

interop-bodies: ## compare what servers in Python and Go read; needs both
	@sh .ci/interop/bodies $(ARGS)

interop-openapi: ## convert the OpenAPI documents of a folder (OPENAPI_DOCUMENTS), and call their tools
	@sh .ci/interop/openapi $(ARGS)

clean: ## remove build output and downloads
	rm -rf dist .tools
