/** Checks and applies drafts of the configuration. */
import type { UiResponses } from "../../../responses.ts";
import { useLayoutEffect, useState } from "../../kit/framework.ts";
import { messageOf, postJson } from "../../server/api.ts";

const PAUSE_MS = 400;

/** The problems of a draft. */
export type DraftResult = UiResponses["source/check"];

/** A file, and the configuration that it is a draft of. */
export type DraftText = Readonly<Record<"hash" | "name" | "text", string>>;

/** Applies a draft, and says what came of it. */
export function useApply(
  draft: DraftText,
  setResult: (result: DraftResult) => void,
) {
  const [message, setMessage] = useState("");
  useLayoutEffect(() => setMessage(""), [draft.text]);
  const apply = async () => {
    setMessage("Applying…");
    try {
      const applied = await postJson("source/apply", draft);
      setResult(applied);
      setMessage(applied.problem === undefined ? "Applied." : "");
    } catch (error) {
      setMessage("");
      setResult({ diagnostics: [], problem: messageOf(error) });
    }
  };
  return { message, apply };
}

/** Checks a draft after each pause in typing. */
export function useCheck(
  draft: DraftText,
  canCheck: boolean,
) {
  const [result, setResult] = useState<DraftResult>({ diagnostics: [] });
  const [isChecking, setChecking] = useState(false);
  // Before the result for the text before could be taken for its own.
  useLayoutEffect(() => {
    if (!canCheck) return;
    const leaving = new AbortController();
    setChecking(true);
    const timer = setTimeout(async () => {
      try {
        setResult(
          await postJson("source/check", draft, leaving.signal),
        );
        setChecking(false);
      } catch (error) {
        if (leaving.signal.aborted) return;
        setChecking(false);
        setResult({ diagnostics: [], problem: messageOf(error) });
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [draft.hash, draft.name, draft.text]);
  return { result, isChecking, setResult };
}
