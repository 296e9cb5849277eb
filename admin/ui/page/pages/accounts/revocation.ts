import { useState } from "../../kit/framework.ts";
import { messageOf } from "../../server/api.ts";

/** Revokes something, and says what came of it. */
export interface Revocation {
  /** Reason for which the last one failed; empty if it did not. */
  readonly problem: string;
  /** Says what the last one has ended; empty before. */
  readonly message: string;
  /** @param end Resolves with the message. */
  readonly revoke: (end: () => Promise<string>) => void;
}

/** Creates the state of revocations. @param onEnd Called after each. */
export function useRevocation(onEnd: () => void): Revocation {
  const [problem, setProblem] = useState("");
  const [message, setMessage] = useState("");
  const run = async (end: () => Promise<string>) => {
    setProblem("");
    try {
      setMessage(await end());
    } catch (error) {
      setMessage("");
      setProblem(messageOf(error));
    }
    onEnd();
  };
  return { problem, message, revoke: (end) => void run(end) };
}
