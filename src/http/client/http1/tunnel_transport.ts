import type { Transport } from "../../transport.ts";

/** A transport that tells when it is closed. */
export class TunnelTransport implements Transport {
  readonly #transport: Transport;
  readonly #onClose: () => void;

  /** @param onClose Closes the transport itself, too. */
  constructor(transport: Transport, onClose: () => void) {
    this.#transport = transport;
    this.#onClose = onClose;
  }

  read(into: Uint8Array): Promise<number | null> {
    return this.#transport.read(into);
  }

  write(bytes: Uint8Array): Promise<number> {
    return this.#transport.write(bytes);
  }

  closeWrite(): Promise<void> {
    return this.#transport.closeWrite();
  }

  close(): void {
    this.#onClose();
  }
}
