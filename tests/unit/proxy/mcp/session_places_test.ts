import assert from "node:assert/strict";
import { HeaderList } from "../../../../src/http/header_list.ts";
import type { ResponseMessage } from "../../../../src/http/message.ts";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import type {
  AttemptTarget,
  Destination,
} from "../../../../src/proxy/balancing/attempt_target.ts";
import { hashOf } from "../../../../src/proxy/balancing/hash.ts";
import { SessionPlaces } from "../../../../src/proxy/mcp/session_places.ts";

/** A backend with two endpoints, which take turns; each names its session after itself. */
function twoEndpoints(): Destination {
  const endpoints = ["a", "b"].map((label): AttemptTarget => ({
    label,
    send: () =>
      Promise.resolve(responseOf({ "mcp-session-id": `of ${label}` })),
  }));
  let turn = 0;
  const choose = () => endpoints[turn++ % 2] ?? assert.fail("no endpoint");
  const destination: Destination = {
    retries: undefined,
    size: 2,
    prepare: () => undefined,
    choose,
    hasAnother: () => true,
    connectFailed: () => {},
    preferring: (hash) => ({
      ...destination,
      choose: () =>
        endpoints.find(({ label }) => hashOf(label) === hash) ?? choose(),
    }),
  };
  return destination;
}

function responseOf(
  headers: Readonly<Record<string, string>>,
): ResponseMessage {
  const list = HeaderList.from(Object.entries(headers));
  return { status: 200, headers: list, body: undefined };
}

/** Sends requests with these headers; returns their endpoints. */
async function sendAll(
  places: SessionPlaces,
  all: readonly Readonly<Record<string, string>>[],
): Promise<string> {
  const destination = twoEndpoints();
  let labels = "";
  for (const headers of all) {
    const request = {
      method: "POST",
      target: "/mcp",
      authority: "a",
      headers: HeaderList.from(Object.entries(headers)),
      upgrade: undefined,
      expectsContinue: false,
      sendInformational: () => {},
    };
    const target = places.choose(destination, request);
    await target.send(request, undefined, new Cancellation());
    labels += target.label;
  }
  return labels;
}

Deno.test("requests of a session go to the endpoint that has begun it, and others in turn", async () => {
  const begin = {};
  const [a, b] = [{ "mcp-session-id": "of a" }, { "mcp-session-id": "of b" }];
  const modern = { "mcp-method": "tools/call" };
  assert.equal(
    await sendAll(new SessionPlaces(false), [begin, begin, b, b, a, b, a]),
    "abbbaba",
  );
  assert.equal(
    await sendAll(new SessionPlaces(false), [modern, modern, modern]),
    "aba",
  );
});

Deno.test("all requests of HTTP+SSE go to one endpoint", async () => {
  assert.equal(await sendAll(new SessionPlaces(true), [{}, {}, {}]), "aaa");
});
