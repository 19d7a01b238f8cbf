// Copying: the text of a field, of a code block, of an answer. Nothing here is needed to read them.

const code = document.querySelector("#copy-code");

// A block of code gets its button when somebody comes near: with the pointer, a finger or the focus.
function offer({ target }) {
  const block = code && target.closest?.("figure.code");
  if (block && !block.querySelector("button")) block.append(code.content.cloneNode(true));
}

async function copy({ target }) {
  const button = target.closest?.("[data-copies]");
  if (!button) return;
  const place = (button.closest("figure, article") ?? document).querySelector(button.dataset.copies);
  for (const offered of place.querySelectorAll("button")) offered.remove();
  const text = place.value ?? place.innerText;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages served without TLS have no clipboard; the old command still copies a selection.
    const field = document.body.appendChild(document.createElement("textarea"));
    field.value = text;
    field.select();
    document.execCommand("copy");
    field.remove();
    button.focus();
  }
  button.querySelector("span").textContent = button.dataset.done;
  button.classList.add("done");
}

for (const name of ["pointerover", "focusin"]) document.addEventListener(name, offer);
document.addEventListener("click", copy);
document.addEventListener("focusin", ({ target }) => target.matches(".copyable") && target.select());
