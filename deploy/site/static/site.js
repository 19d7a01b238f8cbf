// Small helps on pages without a chat. Nothing here is needed to use them.

for (const text of document.querySelectorAll(".copyable")) {
  const button = document.querySelector(`button[data-copies="${text.id}"]`);
  text.addEventListener("focus", () => text.select());
  button.hidden = false;
  button.addEventListener("click", async () => {
    text.select();
    try {
      await navigator.clipboard.writeText(text.value);
    } catch {
      // Pages served without TLS have no clipboard; the old command still copies a selection.
      document.execCommand("copy");
    }
    button.querySelector("span").textContent = button.dataset.done;
  });
}
