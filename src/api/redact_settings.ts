import { REDACTION_MARKER, redactUrl } from "../base/redaction.ts";
import type { Settings } from "./settings.ts";

/** Returns the settings without secrets. */
export function redactSettings(settings: Settings): Settings {
  const { adminToken, kv } = settings;
  return {
    ...settings,
    ...(adminToken !== undefined && { adminToken: REDACTION_MARKER }),
    ...(kv !== undefined && {
      kv: {
        ...kv,
        ...(kv.url !== undefined && { url: redactUrl(kv.url) }),
        ...(kv.redis !== undefined && { redis: redactUrl(kv.redis) }),
      },
    }),
  };
}
