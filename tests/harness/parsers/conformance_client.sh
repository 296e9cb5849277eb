#!/bin/sh
# The client of the MCP conformance suite: passes a scenario to the test, which listens at port $1 and is the client. $2 is the URL of
# the suite's server.
exec curl -sS --fail-with-body --data-urlencode "name=$MCP_CONFORMANCE_SCENARIO" \
  --data-urlencode "context=${MCP_CONFORMANCE_CONTEXT:-{\}}" --data-urlencode "url=$2" "http://127.0.0.1:$1"
