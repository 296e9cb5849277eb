import { isEgressEntry } from "../base/wire/egress_rules.ts";
import { positiveDuration } from "./schema/duration.ts";
import * as s from "./schema/schema.ts";

const egressEntries = s.list(
  s.named(
    "host",
    s.checkedText(
      isEgressEntry,
      'an address, a range such as "10.0.0.0/8", a name, "*.example.com", or "*" for all',
    ),
  ),
  { max: 1000 },
);

/** Hosts that the gateway may not connect to. */
export const egressSchema = s.object({
  deny: s.field(
    "Addresses and ranges, which the addresses of names must not have either, names, `*.example.com`, and `*` for every host that `allow` does not have. In a cluster also: the loopback interface, link-local addresses, metadata services of clouds, the API server, nodes, and the gateway itself.",
    s.withDefault(egressEntries, []),
  ),
  allow: s.field(
    "Exceptions. Of entries that match, the most specific decides; of equal ones, `deny`.",
    s.withDefault(egressEntries, []),
  ),
});

/** Size limits of requests. */
export const limitsSchema = s.object({
  maxHeaderBytes: s.field(
    "Maximum size of request line and headers, in bytes; then 431.",
    s.withDefault(s.integer(1024, 1 << 20), 65536),
  ),
  maxHeaderCount: s.field(
    "Maximum number of request headers; then 431.",
    s.withDefault(s.integer(8, 1000), 128),
  ),
  maxBodyBytes: s.field(
    "Maximum size of a request body, in bytes; then 413. Default: unlimited.",
    s.optional(s.integer(0, Number.MAX_SAFE_INTEGER)),
  ),
  maxBodyMemoryBytes: s.field(
    "Memory for the bodies of all requests that are read before they are forwarded, in bytes; then 503. A quarter of it is for bodies up to 64 KiB. Default: a quarter of the memory that the control group grants, at most 1 GiB.",
    s.optional(s.integer(1 << 20, Number.MAX_SAFE_INTEGER)),
  ),
  maxBufferBytes: s.field(
    "Maximum size of a body that the gateway buffers to read or change it, in bytes.",
    s.withDefault(s.integer(1024, 1 << 30), 2 * 1024 * 1024),
  ),
  maxLlmBodyBytes: s.field(
    "The same for requests to LLMs, which have images and documents in them.",
    s.withDefault(s.integer(1024, 1 << 30), 32 * 1024 * 1024),
  ),
});

/** Images and files at URLs in requests to LLMs. */
export const remoteMediaSchema = s.object({
  fetch: s.field(
    "Fetches them; otherwise, such requests are rejected.",
    s.withDefault(s.boolean(), true),
  ),
  maxBytes: s.field(
    "Maximum size of one image or file, in bytes. All of a request have `limits.maxLlmBodyBytes`.",
    s.withDefault(s.integer(1024, 1 << 30), 8 * 1024 * 1024),
  ),
  timeout: s.field(
    "Time for all images and files of a request.",
    s.withDefault(positiveDuration, "10s"),
  ),
  trustedHosts: s.field(
    "Hosts that may have private addresses, as in URLs: `files.example.com` or `localhost:8443`.",
    s.withDefault(s.list(s.text(260), { max: 100 }), []),
  ),
});
