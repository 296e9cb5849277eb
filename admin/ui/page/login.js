/** The dialog that asks for the admin token; several requests that fail at once share it. */
let asking;

/** What the user typed. */
export function askForToken(problem) {
  asking ??= ask(problem).finally(() => asking = undefined);
  return asking;
}

function ask(problem) {
  const dialog = document.querySelector("dialog");
  const input = dialog.querySelector("input");
  dialog.querySelector("#login-problem").textContent = problem;
  input.value = "";
  dialog.showModal();
  return new Promise((resolve) => {
    // Escape does not help: without a token there is nothing to show.
    dialog.oncancel = (event) => event.preventDefault();
    dialog.onclose = () => {
      if (input.value === "") dialog.showModal();
      else resolve(input.value);
    };
  });
}
