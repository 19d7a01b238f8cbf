// Answers on the page: swap in what is new and touch nothing else, follow the newest words only for
// a reader who is at the end, ask for an answer that the socket is silent about.

const POLL_MS = 1500, SILENCE_MS = 4000, GREETING_MS = 700;
const DEAD_MS = 40_000; // a socket that lives says something every 24 s, be it only a blank
// Left alone: nodes that are equal already, what is being typed, and what was unfolded.
const isMine = (name, node) => name === "open" || (name === "value" && node === document.activeElement);
const KEEP = { callbacks: { beforeAttributeUpdated: (name, node) => !isMine(name, node) } };

const scroller = document.querySelector("#scroller"), messages = document.querySelector("#messages");
const composer = document.querySelector("#composer"), text = composer?.querySelector("textarea");
const heardAt = new Map(); // the id of an answer's article: when the socket last spoke of it
const askedAt = new WeakMap(); // a request, or an article that polled: when it went out
const elsewhere = new Set(); // the ids of answers on branches that this page does not show
const touch = matchMedia("(hover: none) and (pointer: coarse)").matches;
const opens = new Map(); // the id of a long open block: its HTML, as the socket told it
const held = []; // parts of frames whose answer is not on the page yet, each after that one's id
let last = null; // the last message here when the page asked what comes after it
let socket = null; // what htmx tells of the socket that opened last
let openedAt = 0, spokeAt = 0; // when it opened, 0 while it is away; when it last said something
let catchingUp = false;

// Half fixed, half chance: a thousand pages must not all come back in the same instant.
htmx.config.wsReconnectDelay = (tries) =>
  Math.min(8000, 500 * 2 ** tries) * (0.5 + Math.random() / 2);

htmx.defineExtension("keep", {
  isInlineSwap: (style) => style === "keep",

  handleSwap(style, target, fragment, { elts }) {
    if (!["keep", "tail", "above"].includes(style)) return false;
    const fresh = style === "keep" ? [target] : [...fragment.children];
    const focused = document.activeElement.id;
    const fromEnd = style === "above" && scroller.scrollHeight - scroller.scrollTop;
    if (style === "keep") Idiomorph.morph(target, fragment.firstElementChild, KEEP);
    else elts.push(...fresh);
    // Another branch takes the place of the message and of everything after it. Its links work at once.
    if (style === "tail") while (target.nextSibling) target.nextSibling.remove();
    if (style !== "keep") { target.replaceWith(...fresh); fresh.forEach((each) => htmx.process(each)); }
    // What is loaded above does not push down what is being read.
    if (style === "above") scroller.scrollTop = scroller.scrollHeight - fromEnd;
    const next = document.getElementById(focused) ?? (touch ? null : text);
    if (document.activeElement === document.body) next?.focus({ preventScroll: true });
    return fresh;
  },

  // A frame may speak of what this page does not show. Without a request it came by the socket.
  transformResponse(text, request) {
    if (request) return text;
    const frame = document.createElement("template");
    frame.innerHTML = text;
    const parts = [...frame.content.children];
    for (const part of parts) if (part.dataset.keep) complete(part);
    const about = messages && parts.find((part) => part.id.startsWith("m-"));
    if (about) {
      const id = articleId(about.id);
      heardAt.set(id, Date.now());
      if (!document.getElementById(id)) {
        if (!elsewhere.has(id)) held.push(...parts.map((part) => [id, part]));
        if (held.length) catchUp();
        return "";
      }
    }
    for (const part of parts) {
      const there = document.getElementById(part.id);
      if (!there || !fits(part, there)) part.remove();
    }
    return frame.innerHTML;
  },
});

// Of a long open block only what is new at its end comes, as text: a cut in the middle is no HTML.
function complete(part) {
  const html = (opens.get(part.id) ?? "").slice(0, part.dataset.keep) + part.textContent;
  opens.set(part.id, part.innerHTML = html);
}

// New blocks fit when the page has all before them; else the whole answer is asked for.
function fits(part, there) {
  if (!part.dataset.from) return true;
  if (there.dataset.blocks !== part.dataset.from) askFor(there.closest("article"));
  else there.dataset.blocks = part.dataset.blocks;
  return there.dataset.blocks === part.dataset.blocks && part.hasChildNodes();
}

const askFor = (answer) => { askedAt.set(answer, Date.now()); htmx.trigger(answer, "poll"); };
// The article that a part of a frame belongs to: m-<uuid>, without -blocks or -open.
const articleId = (id) => id.slice(0, "m-".length + 36);
const theLast = () => messages.querySelector(":scope > article:is(:last-child, :has(+ .undo:last-child))");

// An answer began that this page has not: its own question is on the way, or it was asked elsewhere,
// after the last message here or on another branch. Other branches are left alone.
function catchUp() {
  if (catchingUp || composer?.classList.contains("htmx-request")) return;
  catchingUp = true;
  last = theLast();
  const done = () => {
    for (const [id] of held.splice(0)) elsewhere.add(id);
    setTimeout(() => { catchingUp = false; }, POLL_MS);
  };
  const values = { after: last?.id.slice("m-".length) };
  const rest = { source: messages, target: messages, swap: "beforeend", values };
  last ? htmx.ajax("GET", location.pathname, rest).then(done, done) : done();
}

function releaseHeld() {
  for (const [id, part] of held.splice(0)) {
    const [article, there] = [id, part.id].map((each) => document.getElementById(each));
    if (!article) held.push([id, part]); // something else was swapped in
    else if (there && fits(part, there)) htmx.swap(document.body, part.outerHTML, { swapStyle: "none" });
  }
}

function poll() {
  if (openedAt && Date.now() - spokeAt > DEAD_MS) revive();
  if (document.hidden) return;
  for (const answer of document.querySelectorAll("article[aria-busy]")) {
    const last = Math.max(heardAt.get(answer.id) ?? 0, askedAt.get(answer) ?? 0);
    // A socket that opens tells every answer that is being written: one left out has ended meanwhile.
    const due = last < openedAt ? openedAt + GREETING_MS : last + (openedAt ? SILENCE_MS : POLL_MS);
    if (Date.now() >= due) askFor(answer);
  }
}

// Nobody told either end: a lid was closed, a proxy forgot. Its end, once it is noticed, is no news.
function revive() {
  lose();
  socket.event.target.onclose = null; socket.socketWrapper.reconnect();
}

// With its socket a temporary chat is gone; what the page still shows must not look alive.
const lose = () => { if (openedAt) document.querySelector("#over")?.removeAttribute("hidden"); openedAt = 0; };
const setAway = (away) => document.querySelector("#away")?.toggleAttribute("hidden", !away);

const on = (name, act) => document.body.addEventListener(`htmx:${name}`, act);
on("wsOpen", ({ detail }) => { socket = detail; openedAt = spokeAt = Date.now(); setAway(false); });
on("wsBeforeMessage", () => { spokeAt = Date.now(); });
on("wsClose", (event) => {
  lose();
  // The session ended: what was private leaves the screen; the draft is kept.
  if (event.detail.event.code === 4401) location.reload();
});
on("beforeSend", (event) => askedAt.set(event.detail.xhr, Date.now()));
on("beforeSwap", (event) => {
  const { target, xhr, requestConfig: { elt } } = event.detail;
  // While the request was under way the socket has told the end of this answer.
  const ended = !target.hasAttribute("aria-busy") && heardAt.get(target.id) > askedAt.get(xhr);
  // Or the composer brought what comes after the last message, or this became another branch.
  const behind = messages && theLast() !== last || composer?.matches(".htmx-request");
  // A button that is gone by now was on something the socket has told anew since.
  if (elt === messages ? behind : ended || !elt.isConnected) event.detail.shouldSwap = false;
  // What went wrong with a poll is no news about the text in the composer.
  if (target.id === "problem" && elt !== composer) event.detail.shouldSwap = false;
});
on("afterSwap", () => { if (held.length) releaseHeld(); });
on("afterRequest", ({ target, detail: { xhr: { status } } }) => {
  if (target !== composer) setAway(status === 0 || status >= 500);
});
on("wsAfterMessage", () => {
  for (const title of document.querySelectorAll("#title")) document.title = `${title.textContent} – Konak`;
});

function follow() {
  const newest = document.querySelector("#to-newest");
  let following = !document.getElementById(location.hash.slice(1)), last = 0;
  const gap = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
  const stay = () => {
    if (following) scroller.scrollTop = scroller.scrollHeight;
    last = scroller.scrollTop;
    newest.hidden = following || gap() < 120;
  };
  const resume = () => { following = true; stay(); };
  scroller.addEventListener("scroll", () => {
    const upwards = scroller.scrollTop < last - 1;
    last = scroller.scrollTop;
    following = gap() < 4 || (!upwards && (following || gap() < 48));
    newest.hidden = following || gap() < 120;
  }, { passive: true });
  newest.addEventListener("click", () => { resume(); text?.focus(); });
  composer.addEventListener("konak:accepted", resume);
  const watch = new ResizeObserver(stay);
  for (const part of [messages, scroller]) watch.observe(part);
  stay(); // before the link to earlier messages can be seen, and loads them
}

// A form inside a message: Cancel and Escape close it, and what opened it has the focus again.
function cancel(event) {
  const form = event.target.closest("article .place form");
  if (!form || !(event.key ? event.key === "Escape" : event.target.closest("[data-cancel]"))) return;
  event.preventDefault();
  const opener = form.closest("article").querySelector(`a[href="${form.getAttribute("action")}"]`);
  form.remove();
  opener?.focus();
}

for (const name of ["click", "keydown"]) document.addEventListener(name, cancel);
if (scroller) follow();
setInterval(poll, POLL_MS / 3);
