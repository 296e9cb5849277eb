//go:build tools

// Package kube keeps the programs that tests run in go.mod.
package kube

import _ "sigs.k8s.io/gateway-api/conformance/echo-basic"
