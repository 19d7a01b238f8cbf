// Copying: the text of a field, of a code block, of an answer. Nothing here is needed to read them.

const code = document.querySelector("#copy-code");

// A block of code gets its button when somebody comes near: with the pointer, a finger or the focus.
function offer({ target }) {
  const block = code && target.closest?.("figure.code");
  if (block && !block.querySelector("button")) block.append(code.content.cloneNode(true));
}

// Also the numbers of lists, which a browser draws and takes for no text.
function words(place) {
  const marks = [...place.querySelectorAll("ol > li")].map((item) => {
    const number = item.parentNode.start + [...item.parentNode.children].indexOf(item);
    const into = item.querySelector(":scope > p") ?? item;
    return into.insertBefore(new Text(`${number}. `), into.firstChild);
  });
  const text = place.value ?? place.innerText;
  for (const mark of marks) mark.remove();
  return text;
}

// By the old command, since pages served without TLS have no other clipboard. It wants a selection.
function copy({ target }) {
  const button = target.closest?.("[data-copies]");
  if (!button) return;
  const place = (button.closest("figure, article") ?? document).querySelector(button.dataset.copies);
  for (const offered of place.querySelectorAll("button")) offered.remove();
  document.addEventListener("copy", (event) => {
    event.preventDefault(); event.clipboardData.setData("text/plain", words(place));
    if (place.matches(".prose")) event.clipboardData.setData("text/html", place.innerHTML);
  }, { once: true });
  if (place.select) place.select(); else getSelection().selectAllChildren(place);
  document.execCommand("copy");
  if (place.select) button.focus(); else getSelection().removeAllRanges();
  button.querySelector("span").textContent = button.dataset.done; button.classList.add("done");
}

for (const name of ["pointerover", "focusin"]) document.addEventListener(name, offer);
document.addEventListener("click", copy);
document.addEventListener("focusin", ({ target }) => target.matches(".copyable") && target.select());
