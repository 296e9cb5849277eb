import { createHmac } from "node:crypto";
import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { SessionPersistence } from "../../api/resources/session_persistence.ts";
import { parseDuration } from "../../api/schema/duration.ts";
import type { PersistentSessions } from "../../snapshot/snapshot.ts";
import { namespacedName } from "../resolve/precedence.ts";

/**
 * Compiles the sessions of a rule. Every process with the same resources derives the same key, so that sessions go on at other
 * replicas and after restarts.
 * @param secret `config.sessionSecret`; without it, the key comes from the UID of the route, which clients do not know.
 */
export function compileSessions(
  { kind, metadata }: HttpRoute,
  { type, sessionName, absoluteTimeout, cookieConfig }: SessionPersistence,
  secret: string | undefined,
): PersistentSessions {
  const name = `${kind}/${namespacedName({ metadata })}`;
  const uid = typeof metadata.uid === "string" ? metadata.uid : "";
  const key = createHmac("sha256", secret ?? uid)
    .update(`session persistence of ${name}`).digest();
  const ownName = createHmac("sha256", "").update(name).digest("hex");
  return {
    type,
    name: sessionName ??
      (type === "Header"
        ? "x-gateway-session"
        : `gateway-session-${ownName.slice(0, 8)}`),
    lifetimeMs: absoluteTimeout === undefined
      ? undefined
      : parseDuration(absoluteTimeout),
    isPermanent: cookieConfig?.lifetimeType === "Permanent",
    key,
  };
}
