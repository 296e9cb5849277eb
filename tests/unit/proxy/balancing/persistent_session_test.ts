import assert from "node:assert/strict";
import { HeaderList } from "../../../../src/http/header_list.ts";
import {
  beginSession,
  readSession,
} from "../../../../src/proxy/balancing/persistent_session.ts";
import type { PersistentSessions } from "../../../../src/snapshot/snapshot.ts";

const HOUR_MS = 3_600_000;
const NOW = 1_700_000_000_000;
const mark = { backend: 0xffffffff, endpoint: 7 };

const cookie: PersistentSessions = {
  type: "Cookie",
  name: "s",
  lifetimeMs: undefined,
  isPermanent: false,
  key: new Uint8Array(32).fill(1),
};

/** Begins a session; returns the field of the response. */
function begin(sessions: PersistentSessions, isSecure = false): string {
  const headers = new HeaderList();
  beginSession(sessions, mark, { headers, now: NOW, isSecure });
  const field = sessions.type === "Cookie" ? "set-cookie" : sessions.name;
  return headers.get(field) ?? "";
}

function valueOf(setCookie: string): string {
  return /^s=([^;]*)/.exec(setCookie)?.[1] ?? "";
}

function read(
  sessions: PersistentSessions,
  value: string,
  now = NOW,
) {
  const headers = HeaderList.from([
    sessions.type === "Cookie"
      ? ["cookie", `a=b; s=${value}; s=other`]
      : [sessions.name, value],
  ]);
  return readSession(sessions, headers, now);
}

Deno.test("a cookie is hidden from scripts, and secure over TLS", () => {
  assert.match(
    begin(cookie),
    /^s=[\w-]{54}; Path=\/; HttpOnly; SameSite=Lax$/,
  );
  assert.match(begin(cookie, true), /; HttpOnly; SameSite=Lax; Secure$/);
});

Deno.test("a permanent cookie has the duration of the session", () => {
  const permanent = { ...cookie, isPermanent: true, lifetimeMs: HOUR_MS };

  assert.match(begin(permanent), /; Path=\/; Max-Age=3600; HttpOnly/);
});

for (const type of ["Cookie", "Header"] as const) {
  Deno.test(`a session is read from the ${type.toLowerCase()} that began it`, () => {
    const sessions = { ...cookie, type };
    const field = begin(sessions);

    const value = type === "Cookie" ? valueOf(field) : field;
    assert.deepEqual(read(sessions, value), mark);
  });
}

Deno.test("a session ends after its duration", () => {
  const limited = { ...cookie, lifetimeMs: HOUR_MS };
  const value = valueOf(begin(limited));

  assert.deepEqual(read(limited, value, NOW + HOUR_MS - 1), mark);
  assert.equal(read(limited, value, NOW + HOUR_MS), undefined);
});

Deno.test("two sessions of one endpoint cannot be linked", () => {
  assert.notEqual(begin(cookie), begin(cookie));
});

Deno.test("a session that was changed or is of another key is none", () => {
  const value = valueOf(begin(cookie));
  const other = { ...cookie, key: new Uint8Array(32).fill(2) };

  assert.equal(read(other, value), undefined);
  for (const at of value.slice(0, -1).split("").keys()) {
    const changed = value[at] === "A" ? "B" : "A";
    const forged = value.slice(0, at) + changed + value.slice(at + 1);
    assert.equal(read(cookie, forged), undefined, forged);
  }
  for (const wrong of ["", "x", value + "A", value.slice(1), "=".repeat(54)]) {
    assert.equal(read(cookie, wrong), undefined, wrong);
  }
});
