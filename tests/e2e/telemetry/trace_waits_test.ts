import assert from "node:assert/strict";
import type { TraceEvent } from "../../../src/telemetry/trace/trace_event.ts";
import { fetchRaw, type RawRequest } from "../../harness/clients/fetch_raw.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { IdentityServer } from "../../harness/login/identity_server.ts";
import {
  byUser,
  upstreamThatSaysOk,
} from "../../harness/gateway/limited_gateway.ts";
import { startRateLimitService } from "../../harness/servers/rate_limit_service.ts";
import { createTokenIssuer } from "../../harness/login/tokens.ts";
import {
  eventsOf,
  startTracedGateway,
} from "../../harness/gateway/traced_gateway.ts";

/** The trace of one request to a gateway with these policies. */
async function traceOf(
  policies: Readonly<Record<string, unknown>>,
  { path = "/mcp", ...request }: RawRequest & { readonly path?: string } = {},
): Promise<{ status: number; events: readonly TraceEvent[] }> {
  await using upstream = upstreamThatSaysOk();
  await using gateway = await startTracedGateway({
    routes: [{
      name: "all",
      policies,
      backends: [{ host: `127.0.0.1:${upstream.port}` }],
    }],
  });
  const events = eventsOf(await gateway.watch());
  const { status } = await fetchRaw(`${gateway.origin}${path}`, request);
  return { status, events: await events };
}

function ofType<Type extends TraceEvent["message"]["type"]>(
  events: readonly TraceEvent[],
  type: Type,
) {
  return events.flatMap((event) => {
    const { message } = event;
    return message.type === type
      ? [{ ...event, message: message as typeof message & { type: Type } }]
      : [];
  });
}

/** Returns waits with their results; each has a known duration. */
function waitsIn(events: readonly TraceEvent[]) {
  return ofType(events, "policyEvent").map(
    ({ eventStart, eventEnd, severity, message }) => {
      assert.ok(eventStart !== null && eventStart <= eventEnd);
      return [severity, message.kind, message.details];
    },
  );
}

/** Of a gateway that accepts the tokens of this provider. */
function accepting({ origin }: IdentityServer) {
  return {
    jwtAuthentication: {
      providers: [{
        issuer: `${origin}/`,
        audiences: ["https://gw.example/mcp"],
        jwks: { url: `${origin}/jwks.json` },
      }],
      mcp: { provider: "IdpA" },
    },
  };
}

Deno.test("a trace shows a wait for keys, and their failure", async () => {
  await using idp = await IdentityServer.start({ condition: "failing" });
  const issuer = await createTokenIssuer({ issuer: `${idp.origin}/` });
  const { status, events } = await traceOf(accepting(idp), {
    headers: { authorization: `Bearer ${await issuer.sign()}` },
  });
  assert.equal(status, 503);
  assert.deepEqual(waitsIn(events), [[
    "warn",
    "jwt",
    {
      waitedFor: `keys of ${idp.origin}/`,
      error:
        "document is not available: unexpected response: expected status 200, got 500",
    },
  ]]);
  const [rejected] = ofType(events, "policy");
  assert.equal(rejected?.message.result.type, "reject");
  assert.notEqual(rejected?.eventStart, null);
});

Deno.test("a trace shows a wait for newer keys after an unknown one", async () => {
  await using idp = await IdentityServer.start();
  const known = await createTokenIssuer({ issuer: `${idp.origin}/` });
  idp.keys = [known];
  const token = await known.sign({}, { kid: "rotated" });
  const { status, events } = await traceOf(accepting(idp), {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(status, 401);
  assert.deepEqual(waitsIn(events).at(-1), ["info", "jwt", {
    waitedFor: `newer keys of ${idp.origin}/`,
  }]);
});

Deno.test("a trace shows a wait for metadata of the identity provider", async () => {
  await using idp = await IdentityServer.start();
  const path = "/.well-known/oauth-authorization-server/mcp";
  const { status, events } = await traceOf(accepting(idp), { path });
  assert.equal(status, 200);
  assert.deepEqual(waitsIn(events), [["info", "jwt", {
    waitedFor: `metadata of ${idp.origin}/`,
  }]]);
});

Deno.test("a trace reports that a registration was passed to the identity provider", async () => {
  await using idp = await IdentityServer.start();
  const issuer = `${idp.origin}/v1/apps/agentic/project/server`;
  const { events } = await traceOf({
    jwtAuthentication: {
      providers: [{ issuer, jwks: { url: `${idp.origin}/jwks.json` } }],
      mcp: { provider: "IdpB" },
    },
  }, {
    path: "/.well-known/oauth-authorization-server/mcp/client-registration",
    method: "POST",
    body: "{}",
  });
  assert.deepEqual(waitsIn(events).map(([, , details]) => details), [{
    waitedFor: "registration at the identity provider",
  }]);
});

Deno.test("a policy that decides without waiting has no start event in a trace", async () => {
  const { events } = await traceOf({
    apiKeyAuthentication: { keys: [{ key: "abc" }] },
  });
  assert.deepEqual(ofType(events, "policy").map((each) => each.eventStart), [
    null,
  ]);
});

Deno.test("a trace reports how long a rate limit service took", async () => {
  await using service = await startRateLimitService();
  const { events } = await traceOf({
    rateLimit: {
      local: [{ requests: 5, unit: "Hours" }],
      global: {
        domain: "fleet",
        store: { service: { host: `127.0.0.1:${service.port}` } },
        descriptors: [byUser({ requests: 9 })],
      },
    },
  }, { headers: { "x-user": "anna" } });
  const [local, global] = ofType(events, "rateLimit");
  assert.deepEqual([local?.message.kind, local?.eventStart], ["local", null]);
  assert.equal(global?.message.kind, "global");
  assert.ok(global.eventStart !== null);
  assert.ok(global.eventStart < global.eventEnd);
});

Deno.test("a trace reports why a global limit had no verdict although the request passed", async () => {
  const { status, events } = await traceOf({
    rateLimit: {
      global: {
        domain: "fleet",
        failureMode: "Open",
        store: { service: { host: `127.0.0.1:${freePort()}` } },
        descriptors: [byUser({ requests: 9 })],
      },
    },
  }, { headers: { "x-user": "anna" } });
  assert.equal(status, 200);
  const [limit] = ofType(events, "rateLimit");
  assert.deepEqual([limit?.severity, limit?.message.result], ["warn", "allow"]);
  assert.match(
    limit?.message.error ?? "",
    /^The limiter failed: Call to the rate limit service ".*" failed/,
  );
});

Deno.test("a trace names the stage after a rate limit service that changes request and response", async () => {
  await using service = await startRateLimitService({
    reply: () => ({
      overall_code: "OK",
      request_headers_to_add: [{ key: "x-tier", value: "one" }],
      response_headers_to_add: [{ key: "x-plan", value: "gold" }],
    }),
  });
  const { events } = await traceOf({
    rateLimit: {
      global: {
        domain: "fleet",
        store: { service: { host: `127.0.0.1:${service.port}` } },
        descriptors: [byUser({ requests: 9 })],
      },
    },
  }, { headers: { "x-user": "anna" } });
  const changed = [
    ...ofType(events, "requestSnapshot"),
    ...ofType(events, "responseSnapshot"),
  ].filter(({ message: { stage } }) => stage.includes("limit"));
  assert.deepEqual(
    changed.map(({ message: { type, stage } }) => [type, stage]),
    [
      ["requestSnapshot", "remote rate limit"],
      ["responseSnapshot", "remote rate limit"],
    ],
  );
});
