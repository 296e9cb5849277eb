import { Http2ConnectionError } from "./frames/http2_error.ts";
import {
  DEFAULT_WINDOW,
  ERROR_CODES,
  MAX_FRAME_BYTES,
  MAX_WINDOW,
  SETTINGS,
} from "./frames/http2_protocol.ts";

const LARGEST_FRAME = 0xff_ffff;

/**
 * The settings of the peer.
 *
 * Settings that allow more than the gateway uses, larger frames and a compression table, are checked and ignored.
 */
export class PeerSettings {
  initialWindow = DEFAULT_WINDOW;
  /** `undefined` when it sets no limit. */
  maxStreams: number | undefined;

  /**
   * Puts a setting into force (RFC 9113 section 6.5.2).
   * @throws {Http2ConnectionError} When the value is out of range.
   */
  apply(identifier: number, value: number, isFromClient: boolean): void {
    switch (identifier) {
      case SETTINGS.enablePush:
        return expectRange(value, 0, isFromClient ? 1 : 0);
      case SETTINGS.maxConcurrentStreams:
        this.maxStreams = value;
        return;
      case SETTINGS.initialWindowSize:
        if (value > MAX_WINDOW) {
          throw new Http2ConnectionError(
            ERROR_CODES.flowControlError,
            "the initial window is too large",
          );
        }
        this.initialWindow = value;
        return;
      case SETTINGS.maxFrameSize:
        return expectRange(value, MAX_FRAME_BYTES, LARGEST_FRAME);
      case SETTINGS.enableConnectProtocol:
        return expectRange(value, 0, 1);
    }
  }
}

function expectRange(value: number, least: number, most: number): void {
  if (value >= least && value <= most) return;
  throw new Http2ConnectionError(
    ERROR_CODES.protocolError,
    "a setting has a value that is not allowed",
  );
}
