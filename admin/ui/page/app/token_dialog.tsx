import { useLayoutEffect, useRef } from "../kit/framework.ts";
import { tokenPrompt } from "../server/token_prompt.ts";

/** The dialog for the admin token or the login. It cannot be dismissed: without access there is nothing to show. */
export function TokenDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const prompt = tokenPrompt.value;
  useLayoutEffect(() => {
    if (prompt !== undefined && dialog.current?.open === false) {
      dialog.current.showModal();
    }
  }, [prompt]);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="login-title"
      onCancel={(event) => event.preventDefault()}
      onClose={() => {
        const token = input.current?.value ?? "";
        if (input.current !== null) input.current.value = "";
        if (token === "") dialog.current?.showModal();
        else prompt?.answer(token);
      }}
    >
      {prompt?.access.login !== undefined && (
        <p>
          <a class="button main" href={prompt.access.login}>Log in</a>
        </p>
      )}
      <form method="dialog" hidden={prompt?.access.hasToken === false}>
        <h2 id="login-title">Admin token</h2>
        <p>
          The admin interface requires a token:{" "}
          <code>config.adminToken</code>. It is stored until this tab is closed.
        </p>
        <label class="field">
          <span>Token</span>
          <input ref={input} type="password" autocomplete="off" required />
        </label>
        <p class="problem" role="alert">{prompt?.problem}</p>
        <button type="submit" class="main">Continue</button>
      </form>
    </dialog>
  );
}
