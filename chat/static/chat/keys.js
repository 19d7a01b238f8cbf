// Keys that do what buttons do: the list that "?" shows also says which. And files over the page.

const list = document.querySelector("#keys"), fold = document.querySelector("#fold");
const WRITING = "textarea, select, input:not([type=checkbox], [type=radio])";

// The conversation listed before the one that is open, or after it.
const beside = (step, listed = [...document.querySelectorAll(".conversations a[id]")]) =>
  listed[listed.findIndex((link) => link.matches("[aria-current]")) + step];

function meant({ key, altKey, ctrlKey, metaKey, isComposing, target }) {
  // AltGr, with which people write, says on some systems that Ctrl is held as well.
  if (ctrlKey || metaKey || isComposing || target.matches("select")) return null;
  if (altKey && /^Arrow(Up|Down)$/.test(key)) return beside(key === "ArrowUp" ? -1 : 1);
  // While somebody writes a letter is a letter; keys without Alt can also be switched off.
  if (!altKey && (target.matches(WRITING) || !list.querySelector(":checked"))) return null;
  const line = list.querySelector(`[data-key="${CSS.escape(key.toLowerCase())}"]`);
  return line && [...document.querySelectorAll(line.dataset.does)].at(-1);
}

document.addEventListener("keydown", (event) => {
  const place = meant(event);
  if (!place) return;
  event.preventDefault();
  if (!place.matches("[popovertarget=keys]")) list.hidePopover();
  if (!place.matches(WRITING)) return place.click();
  if (!place.checkVisibility() && fold.checkVisibility()) fold.click();
  if (!place.checkVisibility()) place.closest("[popover]").showPopover();
  place.focus();
});

// Without this the browser leaves the page and shows the file.
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    if (!event.dataTransfer.types.includes("Files") || event.target.type === "file") return;
    event.preventDefault();
    document.querySelector("#no-files")?.togglePopover(name !== "dragleave" || !!event.relatedTarget);
  });
}
