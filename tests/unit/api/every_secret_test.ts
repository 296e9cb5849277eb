import assert from "node:assert/strict";
import {
  createRedaction,
  redactSettings,
} from "../../../src/api/redact_configuration.ts";
import type { GenericSchema } from "../../../src/api/schema/schema.ts";
import { settingsSchema } from "../../../src/api/settings.ts";
import { formatDiagnostics } from "../../../src/config/diagnostics/located_diagnostic.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { printYaml } from "../../../src/config/yaml/yaml.ts";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";
import {
  formsShown,
  secretPlaces,
} from "../../harness/gateway/secret_places.ts";

const { kinds, short } = schemasOf();
const schemas: Readonly<Record<string, GenericSchema>> = {
  "a configuration file": short.whole,
  settings: settingsSchema,
  ...kinds,
};

// As a private key is written.
const secret = "-----BEGIN planted/s3cret+value-0f6b1ce2-0f6b1ce2-----";

type Shape = "list" | "mapping";

/** Returns a value that has the secret at the place, and a field that no schema knows beside it. */
function planted(place: string, shape: Shape): unknown {
  return place.split(".").reverse().reduce<unknown>(
    (value, step) =>
      step !== "*"
        ? { [step]: value, plantedField: 1 }
        : shape === "list"
        ? [value]
        : { first: value },
    secret,
  );
}

Deno.test("the schemas have secrets", () => {
  assert.ok(secretPlaces(settingsSchema).includes("otlp.headers.*"));
  assert.ok(secretPlaces(kinds.Secret).includes("data.*"));
  assert.ok(secretPlaces(short.whole).length > 20);
});

for (const [name, schema] of Object.entries(schemas)) {
  for (const place of secretPlaces(schema)) {
    Deno.test(`configuration that is shown has no secret at ${place} of ${name}`, () => {
      const redact = createRedaction({
        sensitiveHeaders: new Set(),
        environment: [],
      });
      for (const shape of ["list", "mapping"] as const) {
        const shown = JSON.stringify(redact(schema, planted(place, shape)));

        assert.match(shown, /<redacted>/);
        assert.deepEqual(formsShown(shown, secret), []);
      }
    });
  }
}

Deno.test("the settings that are shown have no secret of their schema", () => {
  const { settings } = loadConfig([], {}, schemasOf());
  for (const place of secretPlaces(settingsSchema)) {
    const value = Object(planted(place, "mapping"));
    const shown = JSON.stringify(redactSettings({ ...settings, ...value }));

    assert.match(shown, /<redacted>/, place);
    assert.deepEqual(formsShown(shown, secret), [], place);
  }
});

for (const place of secretPlaces(short.whole)) {
  Deno.test(`errors of a configuration have no secret at ${place}`, () => {
    for (const shape of ["list", "mapping"] as const) {
      const value = planted(place, shape);
      const texts = [
        printYaml(value),
        JSON.stringify(value, null, 2),
        JSON.stringify(value),
        // Cut off within the secret.
        JSON.stringify(value).replace(/planted.s3cret(?=.*)/, "$&\n"),
        printYaml(value).replaceAll(": ", ":"),
      ];
      for (const text of texts) {
        const sources = [{ name: "gateway.yaml", text }];
        const { diagnostics } = loadConfig(sources, {}, schemasOf());
        const shown = formatDiagnostics(diagnostics, sources);

        assert.notEqual(shown, "");
        assert.deepEqual(formsShown(shown, secret), [], shown);
        assert.doesNotMatch(shown, /s3cret/);
      }
    }
  });
}

for (
  const url of [
    "reds://user:s3cret@redis.example.com",
    "user:s3cret@redis.example.com:6379",
    "redis://user:s3cret@[redis",
  ]
) {
  Deno.test(`the error of the URL ${url.replace("s3cret", "…")} has no password`, () => {
    for (const field of ["redis", "url"]) {
      const text = `config:\n  kv:\n    ${field}: ${url}\n`;
      const sources = [{ name: "gateway.yaml", text }];
      const { diagnostics } = loadConfig(sources, {}, schemasOf());

      const shown = formatDiagnostics(diagnostics, sources);

      assert.match(shown, /gateway.yaml:3:\d+: error: .*expected a URL/);
      assert.doesNotMatch(shown, /s3cret/);
    }
  });
}
