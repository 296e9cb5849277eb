import assert from "node:assert/strict";
import {
  compileExpression,
  Expression,
} from "../../../../../src/policy/cel/expression.ts";
import { claimsValue } from "../../../../../src/policy/cel/values.ts";
import { parseCurlArgs } from "../../../../../cli/ctl/trace/curl_arguments.ts";
import { prepareInjection } from "../../../../../cli/ctl/trace/inject.ts";
import { RecordingListener } from "../../../../harness/servers/recording_listener.ts";
import {
  chooseSourcePort,
  filterFor,
  SOURCE_PORT_COUNT,
} from "../../../../../cli/ctl/trace/source_ports.ts";

const url = "http://anna:p%40ss@api.example.com/a?b=c";

Deno.test("the filter of an injection matches its source ports only", () => {
  const compiled = compileExpression(filterFor(20_000));
  assert(compiled instanceof Expression);
  const test = (port: number) =>
    compiled.test({ source: claimsValue({ address: "127.0.0.1", port }) });

  assert.equal(test(20_000), true);
  assert.equal(test(20_000 + SOURCE_PORT_COUNT - 1), true);
  assert.equal(test(19_999), false);
  assert.equal(test(20_000 + SOURCE_PORT_COUNT), false);
});

Deno.test("source ports are below the ephemeral range", () => {
  assert.equal(chooseSourcePort(0), 20_000);
  assert(chooseSourcePort(0.999999) + SOURCE_PORT_COUNT <= 32_000);
});

Deno.test("parseCurlArgs sends the credentials of the URL", async () => {
  const { headers } = await parseCurlArgs(url, []);

  const authorization = new Headers(
    headers.map(([name, value]) => [name, value]),
  )
    .get("authorization");
  assert.equal(authorization, `Basic ${btoa("anna:p@ss")}`);
});

Deno.test("parseCurlArgs accepts combined short options, and values without a space", async () => {
  const { method, insecure } = await parseCurlArgs(url, ["-kI"]);
  const post = await parseCurlArgs(url, ["-XPOST"]);

  assert.equal(method, "HEAD");
  assert.equal(insecure, true);
  assert.equal(post.method, "POST");
});

Deno.test("parseCurlArgs sends repeated and empty headers", async () => {
  const { headers } = await parseCurlArgs(url, [
    ...["-H", "x-a: 1", "-H", "x-a: 2", "-H", "x-empty;", "-H", "Accept:"],
  ]);

  assert.deepEqual(headers.slice(-3), [["x-a", "1"], ["x-a", "2"], [
    "x-empty",
    "",
  ]]);
  assert(!headers.some(([name]) => name.toLowerCase() === "accept"));
});

for (
  const [args, message] of [
    [["--compressed"], /--compressed is not supported/],
    [["-L"], /-L is not supported/],
    [["--toString"], /--toString is not supported/],
    [
      ["http://other.example.com"],
      /http:\/\/other\.example\.com is not supported/,
    ],
    [["-u", "anna"], /-u without a password is not supported/],
    [["-b", "jar.txt"], /-b with a file is not supported/],
    [["-H"], /-H requires a value/],
    [["-H", "nonsense"], /expected "Name: value" after -H/],
    [["-H", "a: b\r\nc: d"], /expected "Name: value" after -H/],
    [["-X", "GET\r\nx: y"], /expected a method after -X/],
  ] as const
) {
  Deno.test(`parseCurlArgs rejects ${JSON.stringify(args)}`, async () => {
    await assert.rejects(parseCurlArgs(url, args), {
      name: "UsageError",
      message,
    });
  });
}

Deno.test("curl receives every argument, its messages are reported, and -o saves the body", async () => {
  const file = await Deno.makeTempFile();
  {
    await using listener = new RecordingListener();
    const send = await prepareInjection({
      url: "http://api.example.com/a",
      curlArgs: ["--compressed", "-v", "-o", file],
      port: listener.port,
      firstSourcePort: chooseSourcePort(Math.random()),
    });

    const output = await send(new AbortController().signal);

    assert.match(output, /^> GET \/a HTTP\/1\.1/m);
    assert.match(
      listener.requests[0]?.headers.get("accept-encoding") ?? "",
      /gzip/,
    );
    assert.equal(await Deno.readTextFile(file), "the body of the response");
  }
  await Deno.remove(file);
});
