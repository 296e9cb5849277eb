import {
  errorOf,
  type Explain,
  namedPart,
} from "../../telemetry/failures/explanation.ts";

/**
 * Explains requests that a policy could not authenticate.
 * @param credential Header with the credential, where there is only one place for it.
 */
export function explainAuthentication(
  { credential, advice, unavailable }: {
    readonly credential?: string;
    readonly advice: string;
    /** Advice for a 503, where the credential was not checked. */
    readonly unavailable?: string;
  },
): Explain {
  return (failed) => {
    const isUnavailable = failed.finished.status === 503;
    return {
      cause: `The caller ${
        isUnavailable ? "could not be" : "was not"
      } authenticated: ${errorOf(failed)}.`,
      failing: isUnavailable ? undefined : namedPart("header", credential),
      advice: isUnavailable ? unavailable ?? advice : advice,
    };
  };
}
