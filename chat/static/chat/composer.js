// The composer: Enter sends, what is typed is never lost, the room left is told before sending.

const DRAFT_DELAY_MS = 300;
const TELL_ROOM_BELOW = 1000;
const SECOND_CLICK_MS = 600;
const LONG = 20_000;

const composer = document.querySelector("#composer");
const text = composer?.querySelector("textarea");
const touch = matchMedia("(hover: none) and (pointer: coarse)").matches;
let draftTimer = 0;
let sent = "";
let sentAt = -SECOND_CLICK_MS;

const draftKey = () => `draft:${document.body.dataset.person}:${composer.dataset.draft}`;

function saveDraft() {
  clearTimeout(draftTimer);
  try {
    if (text.value) localStorage.setItem(draftKey(), text.value);
    else localStorage.removeItem(draftKey());
  } catch {
    // Storage is off or full in this browser: the text stays on the page only.
  }
}

function savedDraft() {
  try {
    return localStorage.getItem(draftKey()) || "";
  } catch {
    return "";
  }
}

function say(id) {
  const sentence = id ? document.querySelector(id).innerHTML.trim() : "";
  composer.querySelector("#problem").textContent = sentence;
}

// Characters as the server counts them: a surrogate pair is one. Far from the limit nothing is counted.
function roomLeft() {
  const limit = Number(composer.dataset.limit);
  if (text.value.length + TELL_ROOM_BELOW < limit) return limit - text.value.length;
  return limit - text.value.replace(/[\ud800-\udbff][\udc00-\udfff]/g, "_").length;
}

function showRoom() {
  const room = composer.querySelector("#room");
  const left = roomLeft();
  const kind = left < 0 ? "many" : "left";
  const words = Math.abs(left) === 1 ? room.dataset[`${kind}One`] : room.dataset[kind];
  const number = Math.abs(left).toLocaleString(document.documentElement.lang);
  const over = left < 0;
  const told = left < TELL_ROOM_BELOW ? words.replace("%n", number) : "";
  if (over && !room.classList.contains("error")) document.querySelector("#announcer").textContent = told;
  room.textContent = told;
  room.classList.toggle("error", over);
  const send = composer.querySelector(".send");
  if (send && !composer.classList.contains("htmx-request")) send.disabled = over;
}

// Chromium needs seconds for dir="auto" over thousands of lines: a long text gets its direction at once.
function setDirection(coming) {
  const rtl = coming.length > LONG && /^\P{L}*[\u0590-\u08ff\ufb1d-\ufefc]/u.test(coming);
  text.dir = coming.length <= LONG ? "auto" : rtl ? "rtl" : "ltr";
}

function grow() {
  if (CSS.supports("field-sizing", "content")) return;
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight}px`;
}

// Here, and where a question is asked otherwise.
function onKey(event) {
  const { form, value, name } = event.target;
  if (name !== "text" || !form) return;
  // The Enter that confirms a word in an input method (isComposing, 229) does not send.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  // A touch keyboard has no Shift+Enter: there Enter breaks the line and the button sends.
  if (touch) return;
  event.preventDefault();
  const send = form.querySelector(".send");
  if (send && !send.disabled && value.trim()) form.requestSubmit(send);
}

function onReply(event) {
  if (event.target !== composer) return;
  const { xhr } = event.detail;
  const leadsTo = xhr.getResponseHeader("HX-Redirect") || "";
  const accepted = xhr.status === 200 && !leadsTo.includes("/sign-in/");
  if (accepted) {
    say("");
    if (text.value === sent) text.value = "";
    saveDraft();
    grow();
    composer.dispatchEvent(new Event("konak:accepted"));
    if (!touch && document.activeElement === document.body) text.focus();
  } else if (xhr.status === 0) {
    say("#offline");
  } else if (event.detail.failed) {
    say("#refused");
  }
  showRoom();
}

// The second click of a double click on Send must not hit the Stop that has come to its place.
function onClick(event) {
  if (!event.target.closest(".stop") || performance.now() - sentAt > SECOND_CLICK_MS) return;
  event.preventDefault();
  event.stopPropagation();
}

function start() {
  setDirection(text.value || savedDraft());
  if (!text.value) text.value = savedDraft();
  text.setSelectionRange(text.value.length, text.value.length);
  text.addEventListener("beforeinput", (event) => setDirection(text.value + (event.data ?? "")));
  text.addEventListener("input", () => {
    clearTimeout(draftTimer);
    draftTimer = setTimeout(saveDraft, DRAFT_DELAY_MS);
    say("");
    showRoom();
    grow();
  });
  document.body.addEventListener("keydown", onKey);
  composer.addEventListener("click", onClick, { capture: true });
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target !== composer) return;
    saveDraft();
    sent = text.value;
    sentAt = performance.now();
  });
  document.body.addEventListener("htmx:afterRequest", onReply);
  document.body.addEventListener("htmx:wsAfterMessage", showRoom);
  addEventListener("pagehide", saveDraft);
  showRoom();
  grow();
}

if (composer) start();
