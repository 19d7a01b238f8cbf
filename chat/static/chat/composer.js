// The composer: Enter sends, what is typed is never lost, the room left is told before sending.

const DRAFT_DELAY_MS = 300, TELL_ROOM_BELOW = 1000, LONG = 20_000;
const composer = document.querySelector("#composer"), text = composer.querySelector("textarea");
const touch = matchMedia("(hover: none) and (pointer: coarse)").matches;
let draftTimer = 0, sent = "";

// Storage may be off or full in this browser: then the text stays on the page only.
function stored(act) {
  const { draft } = composer.dataset;
  try { return (draft && act(`draft:${document.body.dataset.person}:${draft}`)) ?? ""; }
  catch { return ""; }
}

function saveDraft() {
  clearTimeout(draftTimer);
  stored((key) => text.value ? localStorage.setItem(key, text.value) : localStorage.removeItem(key));
}

const sentence = (id) => id ? document.querySelector(id).content.textContent.trim() : "";
const say = (id) => { composer.querySelector("#problem").textContent = sentence(id); };

function showRoom() {
  const room = composer.querySelector("#room");
  // Characters as the server counts them: a surrogate pair is one.
  const length = text.value.replace(/[\ud800-\udbff][\udc00-\udfff]/g, "_").length;
  const left = composer.dataset.limit - length, over = left < 0;
  const words = room.dataset[(over ? "many" : "left") + (Math.abs(left) === 1 ? "One" : "")];
  const number = Math.abs(left).toLocaleString(document.documentElement.lang);
  const told = left < TELL_ROOM_BELOW ? words.replace("%n", number) : "";
  if (over && !room.classList.contains("error")) document.querySelector("#announcer").textContent = told;
  room.textContent = told;
  room.classList.toggle("error", over);
  composer.querySelector(".send:not(.htmx-request *)")?.toggleAttribute("disabled", over);
}

// Of a long text Chromium finds the direction, and the lines of an endless word, far too slowly.
function lighten(coming) {
  const rtl = coming.length > LONG && /^\P{L}*[\u0590-\u08ff\ufb1d-\ufefc]/u.test(coming);
  text.dir = coming.length <= LONG ? "auto" : rtl ? "rtl" : "ltr";
  text.classList.toggle("unbroken", coming.length > LONG && /\S{5000}/.test(coming));
}

function onKey(event) {
  const { form, value, name } = event.target;
  // A touch keyboard has no Shift+Enter: there Enter breaks the line and the button sends.
  if (touch || name !== "text" || !form) return;
  // The Enter that confirms a word in an input method (isComposing, 229) does not send.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  const send = form.querySelector(".send");
  if (send && !send.disabled && value.trim()) form.requestSubmit(send);
}

const onSend = ({ target }) => { if (target === composer) { saveDraft(); sent = text.value; } };

function accepted() {
  say("");
  if (text.value === sent) text.value = "";
  saveDraft();
  composer.dispatchEvent(new Event("konak:accepted"));
}

function onReply(event) {
  if (event.target !== composer) return;
  const { xhr, failed } = event.detail;
  if (xhr.status === 200 && !xhr.getResponseHeader("HX-Redirect")?.includes("/sign-in/")) accepted();
  else if (failed || !xhr.status) say(xhr.status ? "#refused" : "#offline");
  showRoom();
}

const kept = text.value || stored((key) => localStorage.getItem(key));
lighten(text.value = kept);
text.setSelectionRange(kept.length, kept.length);
text.addEventListener("beforeinput", (event) => {
  // What is far too long to be sent would keep the browser busy for many seconds.
  const isMuch = event.data?.length > 4 * composer.dataset.limit;
  if (isMuch) event.preventDefault();
  say(isMuch ? "#too-much" : "");
  lighten(text.value + (isMuch ? "" : event.data ?? ""));
});
text.addEventListener("input", () => {
  clearTimeout(draftTimer); draftTimer = setTimeout(saveDraft, DRAFT_DELAY_MS);
  showRoom();
});
document.body.addEventListener("keydown", onKey);
for (const name of ["beforeRequest", "wsBeforeSend"]) document.body.addEventListener(`htmx:${name}`, onSend);
document.body.addEventListener("htmx:afterRequest", onReply);
document.body.addEventListener("htmx:wsAfterMessage", ({ detail }) => {
  if (detail.message.includes("data-accepted")) accepted();
  showRoom();
});
addEventListener("pagehide", saveDraft);
showRoom();
