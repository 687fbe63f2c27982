// Asking the interface that anybody can ask, and listening to what happens.

/** A refusal of the interface: what it says, and what to do about it. */
export class Refused extends Error {
  /**
   * @param {number} status 0 when nobody answered.
   * @param {any} told The one shape of every error.
   */
  constructor(status, told) {
    super(told?.message ?? `the server answered ${status}`);
    this.status = status;
    this.code = told?.code ?? "";
    this.details = told?.details ?? {};
    this.remedy = told?.remedy ?? null;
  }

  /** What to do now, in a sentence; empty when there is nothing to add. */
  get hint() {
    if (this.status === 0) return "Is `agar serve` still running? This page goes on by itself when it is back.";
    if (this.status === 401) return "Open the link that `agar serve` printed, or start it with `agar serve --open`.";
    if (this.status === 429) return "Wait a moment, then try again.";
    return this.remedy?.line ? `Try: ${this.remedy.line}` : "";
  }
}

/**
 * Asks the interface.
 * @param {string} path
 * @param {object} [body] Sent as JSON, and makes it a POST.
 * @param {string} [method]
 * @returns {Promise<any>} What was answered; a refusal is thrown.
 */
export async function ask(path, body, method = body === undefined ? "GET" : "POST") {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refused(0, { message: "The server does not answer." });
  }
  const told = answer.status === 204 ? {} : await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, told.error);
  return told;
}

/** How long to wait before asking again for a stream that was refused. */
const AGAIN_MS = 1500;

/**
 * Follows a stream of events from its beginning, and misses nothing: it comes back from the last
 * message it has after the connection or the server was lost. A tab that nobody sees lets go of its
 * connection, because a browser has only six of them for one server.
 * @param {string} path
 * @param {(data: any) => void} heard
 * @param {(connected: boolean) => void} [felt]
 * @param {string} [last] The id of the last message that was heard before.
 * @returns {() => void} Ends it.
 */
export function stream(path, heard, felt = () => {}, last = "") {
  /** @type {EventSource | null} */
  let source = null;
  let timer = 0;
  const open = () => {
    clearTimeout(timer);
    if (source || document.hidden) return;
    const mark = path.includes("?") ? "&" : "?";
    source = new EventSource(last ? `${path}${mark}after=${encodeURIComponent(last)}` : path);
    source.onopen = () => felt(true);
    source.onmessage = (event) => {
      if (event.lastEventId) last = event.lastEventId;
      heard(JSON.parse(event.data));
    };
    source.onerror = () => {
      felt(false);
      // The browser itself tries again, unless it was answered with a refusal.
      if (source?.readyState !== EventSource.CLOSED) return;
      close();
      timer = window.setTimeout(open, AGAIN_MS);
    };
  };
  const close = () => { source?.close(); source = null; };
  const seen = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", seen);
  open();
  return () => {
    document.removeEventListener("visibilitychange", seen);
    clearTimeout(timer);
    close();
  };
}

/** More of a file than this is not shown in the page. */
const FILE_BYTES_MAX = 1 << 20;

/**
 * A file as text; nothing if it is not text.
 * @param {string} path
 * @returns {Promise<string | null>}
 */
export async function content(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Refused(answer.status, (await answer.json().catch(() => ({}))).error);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (bytes.subarray(0, 8000).includes(0)) return null;
  const text = new TextDecoder().decode(bytes.subarray(0, FILE_BYTES_MAX));
  return bytes.length > FILE_BYTES_MAX ? `${text}\n… the rest is not shown` : text;
}
