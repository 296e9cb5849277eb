/** Repeats a task until `signal` aborts, not concurrently, and not while the page is hidden. */
export async function poll(intervalMs, signal, task) {
  while (!signal.aborted) {
    if (!document.hidden) {
      try {
        await task();
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
}

/** Polls and shows errors of the task in `problem` until it succeeds. */
export function pollVisibly(intervalMs, signal, problem, task) {
  return poll(intervalMs, signal, async () => {
    try {
      await task();
      if (problem.textContent !== "") problem.textContent = "";
    } catch (error) {
      if (!signal.aborted && problem.textContent !== error.message) {
        problem.textContent = error.message;
      }
    }
  });
}
