/**
 * Sends the requests of a login and records them without secrets, to be shown and stored.
 */

/** Ends a login; the message is for the user. */
export class ExchangeError extends Error {}

const shownHeaders = [
  "content-type",
  "www-authenticate",
  "mcp-session-id",
  "retry-after",
];

/**
 * Sends a request and shows it.
 * @param step `title`, `note`, and the statuses that are `expected`.
 * @returns `{ status, headers, body }`, the body parsed if it is JSON.
 * @throws {ExchangeError} When there is no response, or one with another status.
 */
export async function send(show, { title, note, expected }, request) {
  const { method = "GET", url, headers = {}, body } = request;
  const sent = {
    method,
    url,
    headers: hideToken(headers),
    body: readable(body),
  };
  let response;
  let text;
  try {
    response = await fetch(url, { method, headers, body });
    text = await response.text();
  } catch (error) {
    const reason =
      `no readable response (${error.message}): the server is down, or its CORS headers do not allow this page`;
    show({ title, note, request: sent, error: reason });
    throw new ExchangeError(`${title}: ${reason}`);
  }
  const parsed = readBody(response.headers.get("content-type") ?? "", text);
  const isExpected = expected.includes(response.status);
  show({
    title,
    note,
    request: sent,
    isExpected,
    response: {
      status: `${response.status} ${response.statusText}`.trim(),
      headers: pickHeaders(response.headers),
      body: hideSecrets(parsed),
    },
  });
  if (!isExpected) {
    const { error, error_description: reason } = Object(parsed);
    throw new ExchangeError(
      `${title}: ${response.status}, expected ${expected.join(" or ")}. ${
        [error, reason].filter(Boolean).join(": ")
      }`,
    );
  }
  return { status: response.status, headers: response.headers, body: parsed };
}

/** Parses JSON, also in the last event of an event stream; returns other bodies as strings. */
function readBody(contentType, text) {
  const json = contentType.startsWith("text/event-stream")
    ? text.split("\n").findLast((line) => /^data: ?\S/.test(line))?.slice(5)
    : text;
  try {
    return JSON.parse(json);
  } catch {
    return text === "" ? undefined : text;
  }
}

function readable(body) {
  if (body instanceof URLSearchParams) {
    return hideSecrets(Object.fromEntries(body));
  }
  return body === undefined ? undefined : JSON.parse(body);
}

function pickHeaders(headers) {
  return Object.fromEntries(
    shownHeaders.filter((name) => headers.has(name)).map((name) => [
      name,
      headers.get(name),
    ]),
  );
}

function hideToken({ authorization, ...others }) {
  return authorization === undefined
    ? others
    : { authorization: "Bearer <the access token>", ...others };
}

/** Decodes tokens without their signatures; hides codes and verifiers. */
function hideSecrets(body) {
  if (typeof body !== "object" || body === null) return body;
  const shown = { ...body };
  if ("access_token" in shown) shown.access_token = decode(shown.access_token);
  for (const name of ["id_token", "refresh_token", "code", "code_verifier"]) {
    if (name in shown) shown[name] = "<hidden>";
  }
  return shown;
}

function decode(token) {
  const parts = String(token).split(".");
  if (parts.length !== 3) return "<opaque>";
  const [header, claims] = parts.slice(0, 2).map((part) =>
    JSON.parse(
      new TextDecoder().decode(
        Uint8Array.from(
          atob(part.replaceAll("-", "+").replaceAll("_", "/")),
          (char) => char.charCodeAt(0),
        ),
      ),
    )
  );
  return { header, claims, signature: "<hidden>" };
}
