// Sends a model's file in pieces, as tus 1.0 does: what is there stays there, whatever breaks off.
const PIECE_BYTES = 8 << 20, AGAIN_MS = 3000, form = document.querySelector("#upload");
const PIECE = { "Content-Type": "application/offset+octet-stream", "X-HTTP-Method-Override": "PATCH" };
const coded = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

function ask(method, url, told, body) {
  const headers = { "Tus-Resumable": "1.0.0", "X-CSRFToken": form.dataset.token, ...told };
  return fetch(url, { method, headers, body, redirect: "manual" }).catch(() => ({}));
}

async function send(url, file) {
  for (let at = 0, reply = { ok: true }; reply.status !== 404 && at < file.size;) {
    if (!reply.ok) await new Promise((go) => setTimeout(go, AGAIN_MS));
    reply = await ask("HEAD", url);
    at = Number(reply.headers?.get("Upload-Offset") ?? at);
    const told = { ...PIECE, "Upload-Offset": at }, piece = file.slice(at, at + PIECE_BYTES);
    if (reply.ok && piece.size) reply = await ask("POST", url, told, piece);
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { file: { files: [file] }, sha256 } = form.elements;
  const told = `filename ${coded(file.name)},sha256 ${coded(sha256.value)}`;
  const reply = await ask("POST", form.action, { "Upload-Length": file.size, "Upload-Metadata": told });
  form.querySelector("[role=alert]").textContent = reply.ok ? "" : await reply.text?.() || form.dataset.away;
  htmx.trigger("#arrivals", "arrive");
  if (reply.ok) send(reply.headers.get("Location"), file);
});
