/** The gateway as a client that a document describes, at an authorization server that registers nobody. */
import assert from "node:assert/strict";
import {
  backendOf,
  sendAs,
  startConnectingSite,
} from "../../harness/gateway/connecting_gateway.ts";
import { startUserService } from "../../harness/login/user_service.ts";

const PUBLIC = "https://gateway.example";

Deno.test("an authorization server fetches the document of the gateway, and users log in there without a registration", async () => {
  await using site = await startConnectingSite(PUBLIC);
  const locate = (url: string) => url.replace(PUBLIC, site.origin);
  const documents: string[] = [];
  await using service = await startUserService({
    registration: false,
    async fetchClient(url) {
      documents.push(url);
      const { host } = new URL(url);
      using client = Deno.createHttpClient({ allowHost: true });
      const headers = { host, connection: "close" };
      const response = await fetch(locate(url), { headers, client });
      return new Response(await response.bytes(), response);
    },
  });
  await using gateway = await site.start({
    backends: [backendOf(service)],
    backend: { backend: "drive" },
  });
  const user = site.user("anna");
  user.locate = ({ href }) => new URL(locate(href));

  const page = await user.connect((await sendAs(site, "anna")).link);
  const first = await sendAs(site, "anna");
  service.rejected.add((await tokenOf()) ?? "");
  const renewed = await sendAs(site, "anna");

  assert.match(
    page.text,
    /Connected\. You can go back/,
    gateway.log.join("\n"),
  );
  assert.deepEqual([first.status, first.body["subject"]], [200, "anna-there"]);
  assert.deepEqual([renewed.status, renewed.body["subject"]], [
    200,
    "anna-there",
  ]);
  const client = `${PUBLIC}/connections/client/default/drive`;
  assert.deepEqual([...new Set(documents)], [client]);
  assert.deepEqual(
    service.tokenRequests.map(({ grant_type, client_id }) => [
      grant_type,
      client_id,
    ]),
    [["authorization_code", client], ["refresh_token", client]],
  );
  assert.equal(service.requests.includes("POST /register"), false);

  /** Returns the token that the service gets. */
  async function tokenOf(): Promise<string | undefined> {
    const { handle } = service;
    let token: string | undefined;
    service.handle = ({ headers }) => {
      token = headers.get("authorization")?.split(" ")[1];
      return new Response();
    };
    await sendAs(site, "anna");
    service.handle = handle;
    return token;
  }
});
