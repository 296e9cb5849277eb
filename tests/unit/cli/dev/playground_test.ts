import assert from "node:assert/strict";
import { startPlayground } from "../../../../cli/dev/playground.ts";

Deno.test("playground frees its ports when it is disposed", async () => {
  const urls: string[] = [];
  {
    await using playground = startPlayground();
    const servers = playground.servers.flatMap((server) =>
      "url" in server ? [server.url] : []
    );
    urls.push(playground.mcpUrl, playground.llmUrl, ...servers);
    assert.equal(playground.servers.length, 3);
    assert.match(playground.mcpUrl, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    assert.match(playground.llmUrl, /^http:\/\/127\.0\.0\.1:\d+$/);
  }

  for (const url of urls) await assert.rejects(fetch(url));
});
