// What the commands of a sandbox print, run by run, as it comes.

import { h } from "/assets/dom.js";
import { size, took } from "/assets/words.js";

/** More of one run than this is not kept in the page. */
const CHARS_MAX = 400_000;

/** Colours and cursor moves of a terminal, which say nothing here. */
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/**
 * How a run ended, in words.
 * @param {any} end
 */
export function ended(end) {
  switch (end?.how) {
    case "exited": return `exit ${end.code}`;
    case "signaled": return `ended by signal ${end.signal}`;
    case "stopped": return `stopped: ${end.breach?.resource ?? "a"} limit reached`;
    case "not_found": return "there is no such command";
    case "not_executable": return "it cannot be executed";
    case "lost": return "interrupted: nobody saw it end";
    default: return "running";
  }
}

/**
 * What was typed: what a shell was asked to run, rather than the shell.
 * @param {string[]} argv
 */
export function typed(argv) {
  return argv[0] === "sh" && argv[1] === "-c" ? argv.slice(2).join(" ") : argv.join(" ");
}

/** The view, and what it is told. */
export function outputView() {
  const empty = h("p", { className: "quiet" }, "Nothing has run yet.");
  const log = h("div", { className: "log", tabIndex: 0, role: "log", "aria-label": "Output of the sandbox" }, empty);
  /** @type {Map<number, { text: Text, foot: HTMLElement }>} */
  const blocks = new Map();
  const block = (/** @type {number} */ run) => {
    const known = blocks.get(run);
    if (known) return known;
    empty.remove();
    const made = { text: document.createTextNode(""), foot: h("div", { className: "foot quiet" }), head: h("div", { className: "prompt" }) };
    log.append(h("div", { className: "run", dataset: { run } }, made.head, h("pre", { className: "printed" }, made.text), made.foot));
    blocks.set(run, made);
    return made;
  };
  const keepingUp = (/** @type {() => void} */ change) => {
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    change();
    if (atEnd) log.scrollTop = log.scrollHeight;
  };
  return {
    element: log,
    /** @param {number} run @param {string[]} argv */
    started: (run, argv) => keepingUp(() => { /** @type {any} */ (block(run)).head.textContent = `$ ${typed(argv)}`; }),
    /** @param {number} run @param {string} text */
    print: (run, text) => keepingUp(() => {
      const node = block(run).text;
      node.appendData(text.replace(ESCAPES, "").replace(/\r\n?/g, "\n"));
      if (node.length > CHARS_MAX) node.deleteData(0, node.length - CHARS_MAX);
    }),
    /** @param {number} run @param {any} end @param {any} usage */
    ended: (run, end, usage) => keepingUp(() => {
      const good = end.how === "exited" && end.code === 0;
      block(run).foot.replaceChildren(
        h("span", { className: good ? "good" : "bad" }, `${good ? "✓" : "✗"} ${ended(end)}`),
        ` · ${took(usage.wall_ms)} · ${size(usage.memory_peak_bytes ?? 0)} peak`);
    }),
  };
}
