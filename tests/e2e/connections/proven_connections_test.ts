/** Services that accept only tokens that are bound to a key (DPoP, RFC 9449), with an authorization server that wants nonces. */
import assert from "node:assert/strict";
import { exportJWK, exportPKCS8, generateKeyPair } from "jose";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";
import {
  backendOf,
  type ConnectingSite,
  sendAs,
  startConnectingSite,
} from "../../harness/gateway/connecting_gateway.ts";
import {
  startUserService,
  type UserService,
} from "../../harness/login/user_service.ts";

function startFor(site: ConnectingSite, service: UserService) {
  return site.start({
    backends: [backendOf(service)],
    backend: { backend: "drive" },
  });
}

async function connect(site: ConnectingSite, name: string) {
  const page = await site.user(name).connect((await sendAs(site, name)).link);
  assert.match(page.text, /Connected\. You can go back/);
}

Deno.test("requests to a service that wants proofs have one each, with a key per account, also after a renewal", async () => {
  await using service = await startUserService({ wantsProofs: true });
  await using site = await startConnectingSite();
  await using _gateway = await startFor(site, service);
  await connect(site, "anna");
  await connect(site, "ben");

  const statuses = [];
  for (const name of ["anna", "anna", "ben"]) {
    statuses.push((await sendAs(site, name)).status);
  }
  service.proofs.nonce = "second-nonce";
  const post = await sendAs(site, "anna", { method: "POST", body: "hello" });
  const [token] = service.tokenRequests;
  service.rejected.add(await tokenOf(service, site, "anna"));
  const renewed = await sendAs(site, "anna");

  assert.deepEqual([...statuses, post.status, renewed.status], [
    200,
    200,
    200,
    200,
    200,
  ]);
  assert.equal(renewed.body["subject"], "anna-there");
  assert.equal(renewed.headers.get("dpop-nonce"), null);
  assert.deepEqual(service.proofs.rejections, [
    // Of the key of each user, and after the change.
    "use_dpop_nonce: nonce",
    "use_dpop_nonce: nonce",
    "use_dpop_nonce: nonce",
  ]);
  const { keys } = service.proofs;
  const [anna = "", , ben = ""] = keys;
  assert.notEqual(anna, ben);
  assert.deepEqual(
    keys.filter((key) => key !== ben),
    keys.map(() => anna).slice(1),
  );
  assert.equal(token?.["grant_type"], "authorization_code");
  const grants = service.tokenRequests.map(({ grant_type }) => grant_type);
  assert.equal(grants.at(-1), "refresh_token");
});

/** Returns the token that the service gets for a user. */
async function tokenOf(
  service: UserService,
  site: ConnectingSite,
  name: string,
): Promise<string> {
  const { handle } = service;
  let token = "";
  service.handle = (request) => {
    token = request.headers.get("authorization")?.split(" ")[1] ?? "";
    return new Response();
  };
  await sendAs(site, name);
  service.handle = handle;
  return token;
}

Deno.test("a body that is too long to be sent again gets the 401 of a new nonce, and its user is not asked to log in", async () => {
  await using service = await startUserService({ wantsProofs: true });
  await using site = await startConnectingSite();
  await using _gateway = await startFor(site, service);
  await connect(site, "anna");
  service.handle = async (request) =>
    Response.json({ length: (await request.bytes()).length });
  const body = "x".repeat(100_000);

  const first = await sendAs(site, "anna", { method: "POST", body });
  const second = await sendAs(site, "anna", { method: "POST", body });

  assert.deepEqual([first.status, first.headers.get("x-gateway-error")], [
    401,
    null,
  ]);
  assert.deepEqual([second.status, second.body], [200, { length: 100_000 }]);
});

Deno.test("an authorization server that issues a token without the key connects nobody", async () => {
  await using service = await startUserService({ wantsProofs: true });
  await using site = await startConnectingSite();
  await using gateway = await startFor(site, service);
  const { link } = await sendAs(site, "anna");
  const user = site.user("anna");
  service.fault = {
    status: 200,
    body: { access_token: "planted-bearer-token", token_type: "Bearer" },
  };

  const page = await user.connect(link);

  assert.doesNotMatch(page.text, /Connected\./);
  assert.equal((await sendAs(site, "anna")).status, 403);
  assert.doesNotMatch(gateway.log.join("\n"), /planted-bearer-token/);
});

Deno.test("tokens of the gateway itself are bound to a key where the service asks for that, or always", async () => {
  const { publicKey, privateKey } = await generateKeyPair("ES256", {
    extractable: true,
  });
  await using service = await startUserService({
    wantsProofs: true,
    clients: [{
      client_id: "signer",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: "private_key_jwt",
      token_endpoint_auth_signing_alg: "ES256",
      jwks: { keys: [{ ...await exportJWK(publicKey), use: "sig" }] },
    }],
  });
  const client = {
    issuer: service.idp.issuer,
    clientId: "signer",
    privateKey: { key: await exportPKCS8(privateKey) },
    resource: service.resource,
  };
  for (
    const [dpop, refused] of [
      ["Auto", ["invalid_token", "use_dpop_nonce"]],
      ["Required", ["use_dpop_nonce"]],
    ] as const
  ) {
    service.proofs.rejections.length = 0;
    await using gateway = await startTestGateway({
      config: { workers: 1 },
      backends: [{
        name: "api",
        static: { host: "127.0.0.1", port: service.port },
        credentials: { clientCredentials: { ...client, dpop } },
      }],
      routes: [{ backends: [{ backend: "api" }] }],
    });
    const send = () =>
      fetch(`${gateway.origin}/api?page=1#part`, {
        method: "POST",
        body: "hello",
        // The proof of a client is not for the service.
        headers: {
          dpop: "planted-proof",
          host: new URL(service.resource).host,
        },
      });

    const responses = [await send(), await send()];

    for (const response of responses) {
      assert.deepEqual([response.status, await response.json()], [200, {
        subject: "signer",
        scope: "",
      }]);
    }
    assert.deepEqual(
      service.proofs.rejections.map((each) => each.replace(/:.*/s, "")),
      refused,
    );
  }
});

Deno.test("the key of a connection is in the vault, sealed, and other processes prove with it", async () => {
  await using service = await startUserService({ wantsProofs: true });
  await using site = await startConnectingSite();
  await using first = await startFor(site, service);
  await connect(site, "anna");
  assert.equal((await sendAs(site, "anna")).status, 200);
  await using second = await site.start({
    backends: [backendOf(service)],
    backend: { backend: "drive" },
    port: freePort(),
  });

  const response = await sendAs(site, "anna", { origin: second.origin });

  assert.equal(response.status, 200);
  const { keys } = service.proofs;
  assert.equal(new Set(keys).size, 1);
  const [key = ""] = keys;
  const store = await Deno.readTextFile(site.storePath);
  const log = [...first.log, ...second.log].join("\n");
  assert.equal(store.includes(key) || log.includes(key), false);
});

Deno.test("workers of a program prove with one key, each with the nonce that the service wants", async () => {
  await using service = await startUserService({ wantsProofs: true });
  await using site = await startConnectingSite();
  await using gateway = await site.startProcess({
    backends: [backendOf(service)],
    backend: { backend: "drive" },
    config: { workers: 2 },
  });
  await connect(site, "anna");
  const sendAll = async () => {
    const sent = Array.from({ length: 12 }, () => sendAs(site, "anna"));
    return (await Promise.all(sent)).map(({ status }) => status);
  };

  const first = await sendAll();
  service.proofs.nonce = "second-nonce";
  const second = await sendAll();

  assert.deepEqual(new Set([...first, ...second]), new Set([200]));
  assert.equal(new Set(service.proofs.keys).size, 1);
  assert.deepEqual(
    service.proofs.rejections.filter((each) =>
      each !== "use_dpop_nonce: nonce"
    ),
    [],
  );
  assert.doesNotMatch(gateway.log.all.join("\n"), /-nonce/);
});
