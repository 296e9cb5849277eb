import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { textBody } from "../../../../src/http/body.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import {
  type FetchedDocument,
  readText,
} from "../../../../src/identity/documents/document_client.ts";
import { registerClient } from "../../../../src/policy/login/endpoints/mcp_registration.ts";
import {
  LocalRegistrationTurns,
  ProviderRegistration,
} from "../../../../src/policy/login/endpoints/registration_turns.ts";
import type { PolicyOutcome } from "../../../../src/policy/contract/policy.ts";
import { Rejection } from "../../../../src/policy/contract/rejection.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

function register(
  provider: ProviderRegistration | undefined,
  body = '{"redirect_uris":["http://localhost/cb"]}',
): Promise<PolicyOutcome> {
  return registerClient(textBody(body), {
    clientId: undefined,
    clock: new FakeClock(),
    provider,
    cancellation: new Cancellation(),
    trace: undefined,
  });
}

function statusOf(answer: PolicyOutcome): number {
  return (answer instanceof Rejection ? answer.response : answer).status;
}

function providerOf(
  send: () => Promise<FetchedDocument>,
  clock: FakeClock,
): ProviderRegistration {
  const turns = new LocalRegistrationTurns(clock);
  return new ProviderRegistration({ send, turns, provider: "idp" });
}

function document(status: number, text = "{}"): FetchedDocument {
  return { status, headers: new HeaderList(), text };
}

Deno.test("a flood of registrations does not reach the provider", async () => {
  const pending: ((answer: FetchedDocument) => void)[] = [];
  const clock = new FakeClock();
  const provider = providerOf(
    () => new Promise((resolve) => pending.push(resolve)),
    clock,
  );
  const flood = Array.from({ length: 100 }, () => register(provider));
  for (let i = 0; i < 50; i++) await Promise.resolve();
  assert.equal(pending.length, 8);

  for (const answer of pending) answer(document(201));
  const statuses = (await Promise.all(flood)).map(statusOf);

  assert.equal(statuses.filter((status) => status === 201).length, 8);
  assert.equal(statuses.filter((status) => status === 503).length, 92);
  assert.equal(statusOf(await register(provider)), 503);
  clock.advance(1000);
  const next = register(provider);
  for (let i = 0; i < 50; i++) await Promise.resolve();
  pending.at(-1)?.(document(201));
  assert.equal(statusOf(await next), 201);
});

Deno.test("a provider that is quick still gets no more than eight registrations in a second", async () => {
  const clock = new FakeClock();
  let registered = 0;
  const provider = providerOf(() => {
    registered++;
    return Promise.resolve(document(201));
  }, clock);

  for (let i = 0; i < 1000; i++) {
    await register(provider);
    clock.advance(10);
  }

  assert.equal(registered, 80);
});

for (
  const [status, text, expected, body] of [
    [201, '{"client_id":"c"}', 201, '{"client_id":"c"}'],
    [403, '{"error":"invalid_token"}', 403, '{"error":"invalid_token"}'],
    [302, "{}", 502],
    [304, "{}", 502],
    [204, "", 502],
    [200, "<html>", 502],
    [200, "null", 502],
    [401, "<html>", 401, "access_denied"],
    [500, "", 500, "access_denied"],
  ] as const
) {
  Deno.test(`a response ${status} ${text} of the provider to a registration becomes ${expected}`, async () => {
    const provider = providerOf(
      () => Promise.resolve(document(status, text)),
      new FakeClock(),
    );

    const answer = await register(provider);

    assert.equal(statusOf(answer), expected);
    const response = answer instanceof Rejection ? answer.response : answer;
    assert.equal(response.headers.get("content-type"), "application/json");
    const shown = await readText(response.body, 1024);
    assert.ok(shown.includes(body ?? "bad_gateway"), shown);
  });
}

Deno.test("a registration that is no JSON is quoted neither to the client nor in the log", async () => {
  const rejection = await register(undefined, '{"client_secret": hunter2}');

  assert.ok(rejection instanceof Rejection);
  assert.equal(rejection.message, "expected a JSON object");
  assert.equal(rejection.response.status, 400);
});
