/** The dialog for the admin token; concurrent requests share it. */
let pending;

/** Prompts the user for the token. */
export function promptForToken(problem) {
  pending ??= prompt(problem).finally(() => pending = undefined);
  return pending;
}

function prompt(problem) {
  const dialog = document.querySelector("dialog");
  const input = dialog.querySelector("input");
  dialog.querySelector("#login-problem").textContent = problem;
  input.value = "";
  dialog.showModal();
  return new Promise((resolve) => {
    // Escape is ignored: without a token there is nothing to show.
    dialog.oncancel = (event) => event.preventDefault();
    dialog.onclose = () => {
      if (input.value === "") dialog.showModal();
      else resolve(input.value);
    };
  });
}
