import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import type { TokenCredentials } from "../../../../src/identity/backend_tokens/backend_credentials.ts";
import { BackendTokens } from "../../../../src/identity/backend_tokens/backend_tokens.ts";
import { CloudTokens } from "../../../../src/identity/backend_tokens/cloud/cloud_tokens.ts";
import { startCloudServers } from "../../../harness/servers/cloud_servers.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const google: TokenCredentials = {
  kind: "google",
  fingerprint: "google",
  backend: "default/vertex",
  file: undefined,
  impersonate: undefined,
  scopes: ["https://www.googleapis.com/auth/cloud-platform"],
};

/** A clock that agrees with the libraries about the time of day. */
class WallClock extends FakeClock {
  readonly #offset = Date.now() - new FakeClock().now();

  override now(): number {
    return super.now() + this.#offset;
  }
}

Deno.test("a token of a cloud is fetched once, renewed ahead of time, and used to its end while the cloud is away", async () => {
  await using clouds = await startCloudServers();
  const clock = new WallClock();
  const failures: string[] = [];
  const { promise: renewed, resolve } = Promise.withResolvers<void>();
  const source = new CloudTokens({ clock, cancellation: new Cancellation() });
  const tokens = new BackendTokens({
    clock,
    source: {
      async fetch(credentials) {
        assert.ok(credentials.kind === "google");
        return await source.request(credentials);
      },
    },
    onRequested(_, error) {
      if (error === undefined) return;
      failures.push(error.code);
      resolve();
    },
  });
  const asked = () =>
    clouds.requests.filter((line) => line.endsWith("/default/token")).length;
  Deno.env.set("GCE_METADATA_HOST", new URL(clouds.origin).host);
  try {
    const many = await Promise.all(
      Array.from({ length: 50 }, () => tokens.get(google, undefined)),
    );
    assert.deepEqual([...new Set(many.map(({ token }) => token))], [
      "google-metadata-token",
    ]);
    assert.equal(asked(), 1);
    clock.advance(54 * 60_000);
    await tokens.get(google, undefined);
    assert.equal(asked(), 1);

    clouds.fault = 403;
    clock.advance(2 * 60_000);
    const { origin } = await tokens.get(google, undefined);
    await renewed;
    assert.equal(origin, "cache");
    assert.deepEqual(failures, ["credentials_rejected"]);
    assert.equal((await tokens.get(google, undefined)).origin, "cache");
    clock.advance(4 * 60_000);
    await assert.rejects(
      async () => await tokens.get(google, undefined),
      /responds with 403/,
    );
    clouds.fault = undefined;
    clock.advance(60_000);
    assert.equal((await tokens.get(google, undefined)).origin, "server");
  } finally {
    Deno.env.delete("GCE_METADATA_HOST");
  }
});
