/** Frame types (RFC 9113 section 6). */
export const FRAME_TYPES = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Frame flags; RFC 9113 section 6 defines the flags of each frame type. */
export const FRAME_FLAGS = {
  ack: 0x1,
  endStream: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const;

/** Settings (RFC 9113 section 6.5.2 and RFC 8441 section 3). */
export const SETTINGS = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
  enableConnectProtocol: 8,
} as const;

/** Error codes (RFC 9113 section 7). */
export const ERROR_CODES = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

/** Opens a client's connection (RFC 9113 section 3.4). */
export const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** Bytes before the payload of a frame. */
export const FRAME_HEADER_BYTES = 9;

/** Largest payload that is sent and accepted: the default of the protocol, which the gateway does not raise. */
export const MAX_FRAME_BYTES = 16_384;

/** Initial flow-control window, before settings and updates. */
export const DEFAULT_WINDOW = 65_535;

/** Largest flow-control window (RFC 9113 section 6.9.1). */
export const MAX_WINDOW = 0x7fff_ffff;

/** Largest stream ID. */
export const LAST_STREAM_ID = 0x7fff_ffff;

/** Bytes that a field counts in addition to its name and value (RFC 7541 section 4.1). */
export const FIELD_OVERHEAD = 32;
