// The terminal of a sandbox in the page: the one that `agar attach` shows, over a WebSocket.
//
// The page's policy allows no inline style (`style-src 'self'`). xterm.js makes `<style>` elements and
// writes `style` attributes of spans, both of which a browser refuses under it. So the style elements that
// it is given hand their text to a style sheet made by a script, and the style of a span is set by
// property; the policy forbids neither, because neither can come from markup.

// @ts-ignore: vendored, without types
import { Terminal } from "/assets/xterm.js";
// @ts-ignore: vendored, without types
import { FitAddon } from "/assets/xterm-fit.js";

const PAUSES = [250, 500, 1000, 2000, 5000];
/** Keys in one message; the server takes 64 KiB. */
const PIECE = 16384;

/** A stand-in for a `<style>` element: whatever its text is becomes a sheet of the document. */
function standIn(/** @type {CSSStyleSheet[]} */ sheets) {
  const sheet = new CSSStyleSheet();
  sheets.push(sheet);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const element = Document.prototype.createElement.call(document, "template");
  Object.defineProperty(element, "textContent", {
    set: (text) => sheet.replaceSync(text),
    get: () => "",
  });
  return element;
}

// What xterm.js writes into the style attribute of a span is set by property.
HTMLSpanElement.prototype.setAttribute = function (/** @type {string} */ name, /** @type {string} */ value) {
  if (name === "style") this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
};

/** Opens a terminal, whose style elements are made meanwhile. */
function open(/** @type {any} */ terminal, /** @type {HTMLElement} */ element, /** @type {CSSStyleSheet[]} */ sheets) {
  document.createElement = (/** @type {string} */ name, /** @type {any} */ options) =>
    name === "style" ? standIn(sheets) : Document.prototype.createElement.call(document, name, options);
  try {
    terminal.open(element);
  } finally {
    // @ts-ignore: the prototype's own comes back
    delete document.createElement;
  }
}

/** Its style sheet, once in the document. */
function styled() {
  const href = "/assets/xterm.css";
  if (document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  return new Promise((resolve) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = href;
    link.onload = link.onerror = () => resolve(undefined);
    document.head.append(link);
  });
}

const dark = {
  background: "#10141a", foreground: "#e6e9ee", cursor: "#e6e9ee", selectionBackground: "#3b4a63",
};
const light = {
  background: "#ffffff", foreground: "#1b1f24", cursor: "#1b1f24", selectionBackground: "#b6d4fe",
  white: "#57606a", brightWhite: "#24292f", yellow: "#7d5b00", brightYellow: "#7d5b00",
  green: "#116329", brightGreen: "#116329", cyan: "#0f5f6b", brightCyan: "#0f5f6b",
};

/**
 * Shows the terminal of a sandbox in an element, and comes back by itself when the connection breaks.
 * @param {HTMLElement} element where
 * @param {string} sandboxId of which sandbox
 * @returns {() => void} takes it away; the terminal itself goes on
 */
export function mount(element, sandboxId) {
  let gone = false;
  /** @type {() => void} */
  let end = () => {};
  styled().then(() => {
    if (!gone) end = show(element, sandboxId);
  });
  return () => {
    gone = true;
    end();
  };
}

function show(/** @type {HTMLElement} */ element, /** @type {string} */ sandboxId) {
  /** @type {CSSStyleSheet[]} */
  const sheets = [];
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const terminal = new Terminal({
    cursorBlink: !window.matchMedia("(prefers-reduced-motion: reduce)").matches,
    fontFamily: "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace",
    fontSize: 14,
    scrollback: 5000,
    minimumContrastRatio: 4.5,
    // What a sandbox prints leads nowhere.
    linkHandler: { activate() {} },
    theme: scheme.matches ? dark : light,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  const screen = document.createElement("div");
  screen.className = "terminal-screen";
  const status = document.createElement("p");
  status.className = "terminal-status quiet";
  status.setAttribute("role", "status");
  const leave = document.createElement("p");
  leave.className = "terminal-leave quiet small";
  leave.tabIndex = -1;
  leave.textContent = "The keyboard belongs to the terminal while you are in it; F6 leads out, Shift+F6 back.";
  element.replaceChildren(screen, leave, status);
  open(terminal, screen, sheets);
  fit.fit();

  /** @type {WebSocket | null} */
  let socket = null;
  let attempts = 0;
  let timer = 0;
  let over = false;
  const encoder = new TextEncoder();

  function connect() {
    over = false;
    status.textContent = attempts === 0 ? "Opening the terminal." : "Connecting again.";
    const at = new URL(`/v1/sandboxes/${encodeURIComponent(sandboxId)}/terminal`, location.href);
    at.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    at.search = `?rows=${terminal.rows}&columns=${terminal.cols}`;
    socket = new WebSocket(at);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") hear(JSON.parse(data));
      else terminal.write(new Uint8Array(data));
    };
    socket.onclose = () => {
      socket = null;
      element.dataset.terminal = over ? "over" : "away";
      if (over) return;
      status.textContent = "The connection broke; the terminal goes on. Connecting again.";
      timer = window.setTimeout(connect, PAUSES[Math.min(attempts, PAUSES.length - 1)]);
      attempts += 1;
    };
  }

  function hear(/** @type {{ type: string, alias?: string, kind?: string }} */ said) {
    if (said.type === "ready") {
      attempts = 0;
      terminal.reset();
      size();
      element.dataset.terminal = "open";
      status.textContent = `The terminal of ${said.alias}; “agar attach ${said.alias}” shows the same.`;
    } else if (said.type === "over") {
      over = true;
      status.textContent = "The terminal is over. Press Enter for another one.";
    }
  }

  function size() {
    const { rows, cols: columns } = terminal;
    if (socket?.readyState === WebSocket.OPEN) {
      socket.send(JSON.stringify({ type: "resize", rows, columns }));
    }
  }

  function type(/** @type {Uint8Array} */ keys) {
    if (over && keys.includes(13)) {
      connect();
      return;
    }
    if (socket?.readyState !== WebSocket.OPEN) return;
    for (let at = 0; at < keys.length; at += PIECE) socket.send(keys.slice(at, at + PIECE));
  }

  // The tab key is the shell's, so that another one has to lead out for whoever has no mouse.
  terminal.attachCustomKeyEventHandler((/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "F6") return true;
    const back = /** @type {HTMLElement | null | undefined} */ (element.closest("details")?.querySelector("summary"));
    if (event.type === "keydown") (event.shiftKey && back ? back : leave).focus();
    event.preventDefault();
    return false;
  });
  terminal.onData((/** @type {string} */ text) => type(encoder.encode(text)));
  terminal.onBinary((/** @type {string} */ text) => {
    type(Uint8Array.from(text, (one) => one.charCodeAt(0)));
  });
  terminal.onResize(size);
  const watch = new ResizeObserver(() => {
    // One that is hidden has no size to have.
    if (screen.offsetParent !== null) fit.fit();
  });
  watch.observe(screen);
  const repaint = () => { terminal.options.theme = scheme.matches ? dark : light; };
  scheme.addEventListener("change", repaint);
  connect();

  return () => {
    window.clearTimeout(timer);
    watch.disconnect();
    scheme.removeEventListener("change", repaint);
    if (socket) {
      socket.onclose = null;
      socket.close();
    }
    terminal.dispose();
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
    element.replaceChildren();
    delete element.dataset.terminal;
  };
}
