// The chat page beyond htmx: sending by Enter, drafts, following the newest words, polling while
// the socket is away. All state comes from the server as HTML; only drafts are kept here.

const composer = document.querySelector("#composer");
const scroller = document.querySelector("#scroller");
const POLL_MS = 1500;
let socketOpen = false;

function draftKey() {
  return `draft:${document.body.dataset.person}:${composer.dataset.draft}`;
}

function remember(key, value) {
  try {
    if (value) localStorage.setItem(key, value);
    else localStorage.removeItem(key);
  } catch {
    // Storage is off in this browser: the text stays on the page only.
  }
}

function recall(key) {
  try {
    return localStorage.getItem(key) || "";
  } catch {
    return "";
  }
}

function say(problem) {
  document.querySelector("#problem").textContent = problem;
}

function showRoom(text) {
  const room = document.querySelector("#room");
  const left = Number(composer.dataset.limit) - text.value.length;
  const words = left < -1 ? room.dataset.many : left === -1 ? room.dataset.one : room.dataset.left;
  room.textContent = left < 1000 ? words.replace("%n", Math.abs(left).toLocaleString(document.documentElement.lang)) : "";
  room.classList.toggle("error", left < 0);
  const send = composer.querySelector("button.send");
  if (send) send.disabled = left < 0;
}

function atBottom() {
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
}

function toBottom() {
  scroller.scrollTop = scroller.scrollHeight;
}

function poll() {
  if (socketOpen) return;
  for (const answer of document.querySelectorAll("article[aria-busy]")) htmx.trigger(answer, "poll");
}

function startComposer() {
  const text = composer.querySelector("#text");
  if (!text.value) text.value = recall(draftKey());
  text.setSelectionRange(text.value.length, text.value.length);
  showRoom(text);
  text.addEventListener("input", () => {
    remember(draftKey(), text.value);
    showRoom(text);
    say("");
  });
  text.addEventListener("keydown", (event) => {
    // The Enter that confirms a word in an input method (isComposing, 229) does not send.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    const send = composer.querySelector("button.send");
    if (send && !send.disabled && text.value.trim()) composer.requestSubmit(send);
  });
  let sent = "";
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target === composer) sent = text.value;
  });
  document.body.addEventListener("htmx:afterRequest", (event) => {
    if (event.target !== composer) return;
    const { successful, xhr } = event.detail;
    if (xhr.status === 0) return;
    const accepted = successful && !(xhr.getResponseHeader("HX-Redirect") || "").includes("/sign-in/");
    if (!accepted) return;
    say("");
    if (text.value === sent) text.value = "";
    remember(draftKey(), text.value);
    showRoom(text);
    toBottom();
  });
  document.body.addEventListener("htmx:sendError", () => say(document.querySelector("#offline").innerHTML));
}

function startFollowing() {
  let following = true;
  scroller.addEventListener("scroll", () => { following = atBottom(); }, { passive: true });
  new MutationObserver(() => { if (following) toBottom(); }).observe(scroller, { childList: true, subtree: true });
  toBottom();
}

if (composer) startComposer();
if (scroller) startFollowing();
document.body.addEventListener("htmx:wsOpen", () => { socketOpen = true; });
document.body.addEventListener("htmx:wsClose", () => { socketOpen = false; });
setInterval(poll, POLL_MS);
