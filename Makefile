DENO = sh .ci/deno
TESTS = tests

.PHONY: help run test check fmt e2e golden pictures bench build clean interop-ratelimit screenshots

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' Makefile

run: ## start the gateway with its offline playground
	@sh .ci/playground $(ARGS)

test: ## run the tests, against the source
	@$(DENO) task --quiet test $(ARGS) $(TESTS)

check: ## format, lint, types and the rules of the house
	@$(DENO) task --quiet check

fmt: ## format everything
	@$(DENO) fmt

e2e: build ## run the end-to-end tests against the executable
	@$(DENO) task --quiet e2e $(ARGS)

golden: ## accept what the golden files should now say; read the diff
	@$(DENO) task --quiet golden

pictures: ## take the pictures of the documentation anew; needs tmux
	@$(DENO) run --quiet -A tests/pictures/pictures.ts

bench: ## compare with nginx and a naive proxy
	@$(DENO) task --quiet bench $(ARGS)

build: ## make one executable, dist/gateway
	@$(DENO) task --quiet build

screenshots: ## make the pictures of the README; needs Chromium
	@$(DENO) run -A .ci/screenshots.ts

interop-ratelimit: ## ask a real envoyproxy/ratelimit; needs Go and Redis
	@sh .ci/interop_ratelimit $(ARGS)

clean: ## remove what was built and fetched
	rm -rf dist .tools
