// The changes of a sandbox, floating over everything until they are put away. What would be applied
// comes first; ignored directories and what lies outside the project are apart, as in the terminal.

import { h } from "/assets/dom.js";
import { count, size } from "/assets/words.js";

const KEY = "agar.changes";
/** Rows before the rest is counted. */
const SHOWN = 100;
/** A new directory with more in it than this is one row that can be opened. */
const FOLDED_FROM = 6;

/** @type {Record<string, string>} */
const signs = { added: "+", modified: "~", deleted: "−", renamed: "→", mode: "~", retyped: "~" };

/** @typedef {{ path: string, change: string, what: string, added: number | null, removed: number | null, binary: boolean }} Changed */

/**
 * Files by the new directory that they came with, where there are many; the rest by itself.
 * @param {Changed[]} files
 * @returns {{ within: string | null, files: Changed[] }[]}
 */
function grouped(files) {
  const fresh = files.filter((it) => it.what === "directory" && it.change === "added").map((it) => `${it.path}/`);
  const tops = fresh.filter((path) => !fresh.some((above) => above !== path && path.startsWith(above)));
  const inside = new Map(tops.map((path) => [path, files.filter((it) => it.path.startsWith(path) && it.what !== "directory")]));
  const many = tops.filter((path) => (inside.get(path)?.length ?? 0) > FOLDED_FROM);
  // A directory that holds something is seen by what it holds.
  const plain = files.filter((it) => !many.some((path) => `${it.path}/`.startsWith(path))
    && !(it.what === "directory" && files.some((other) => other.path.startsWith(`${it.path}/`))));
  return [{ within: null, files: plain }, ...many.map((path) => ({ within: path, files: inside.get(path) ?? [] }))];
}

/** What a path has to say for itself. @param {Changed} file */
function weight(file) {
  if (file.binary) return "binary";
  return file.what === "file" && file.added !== null ? `+${file.added} −${file.removed}` : file.what;
}

/**
 * @param {Changed[]} files
 * @param {(path: string) => void} open
 */
function rows(files, open) {
  return h("ul", { className: "plain" }, ...files.slice(0, SHOWN).map((file) => h("li", {},
    h("button", { className: "link", onclick: () => open(file.path) },
      h("span", { className: `change ${file.change}`, "aria-hidden": "true" }, signs[file.change] ?? "·"),
      h("span", { className: "said-only" }, `${file.change} `), file.path),
    h("span", { className: "quiet" }, weight(file)))),
  files.length > SHOWN ? h("li", { className: "quiet" }, `and ${files.length - SHOWN} more`) : null);
}

/**
 * Something that is there and not in the way.
 * @param {string} title
 * @param {import("/assets/dom.js").Child[]} children
 */
function fold(title, ...children) {
  return h("details", { className: "fold" }, h("summary", {}, title), ...children);
}

/**
 * What is apart from what would be applied.
 * @param {any} changes
 * @param {(path: string) => void} open
 */
function apart(changes, open) {
  const lines = (/** @type {string[]} */ all) => h("ul", { className: "plain quiet" }, ...all.slice(0, SHOWN).map((line) => h("li", {}, line)));
  const held = (/** @type {any} */ it) => `${it.path}/  ${count(it.added + it.modified + it.deleted, "file")}, ${size(it.bytes)}`;
  return [
    changes.commits.length === 0 ? null
      : fold(count(changes.commits.length, "commit"), lines(changes.commits.map((/** @type {any} */ it) => `${it.id.slice(0, 8)} ${it.subject}`))),
    changes.bulk.length === 0 ? null
      : fold(`Ignored: ${count(changes.bulk.length, "directory", "directories")}, not applied`, lines(changes.bulk.map(held))),
    changes.outside.length === 0 ? null
      : fold(`Outside the project: ${count(changes.outside.length, "path")}, not applied`, rows(changes.outside, open)),
    changes.masked.length === 0 ? null
      : fold(`At hidden places: ${count(changes.masked.length, "path")}, not applied`, lines(changes.masked)),
    changes.unread.length === 0 ? null : h("p", { className: "warn" }, `${count(changes.unread.length, "path")} could not be read, such as ${changes.unread[0]}`),
  ];
}

/**
 * The overlay.
 * @param {(path: string) => void} open Shows the changes of a path.
 */
export function overlay(open) {
  const body = h("div", { className: "body", id: "changes-body" });
  const words = h("span", {});
  const sign = h("span", { "aria-hidden": "true" });
  const button = h("button", { className: "toggle", "aria-controls": "changes-body", onclick: () => turn(body.hidden) },
    h("span", {}, "Changes detected"), words, sign);
  const turn = (/** @type {boolean} */ shown) => {
    body.hidden = !shown;
    button.setAttribute("aria-expanded", String(shown));
    sign.textContent = shown ? "▾" : "▴";
    sessionStorage.setItem(KEY, shown ? "shown" : "hidden");
  };
  const element = h("section", { className: "overlay", "aria-label": "Changes detected", hidden: true }, button, body);
  turn((sessionStorage.getItem(KEY) ?? (matchMedia("(min-width: 48rem)").matches ? "shown" : "hidden")) === "shown");
  let drawn = "";
  return {
    element,
    /** @param {any} changes */
    show(changes) {
      const { files } = changes;
      const others = [changes.outside, changes.bulk, changes.commits, changes.masked, changes.unread];
      element.hidden = files.length === 0 && others.every((list) => list.length === 0);
      const key = JSON.stringify(changes);
      // Only what changed is drawn again: whoever is in the list stays there, and what was opened stays open.
      if (key === drawn) return;
      drawn = key;
      const [rest, ...folded] = grouped(files);
      const real = files.filter((/** @type {Changed} */ it) => it.what !== "directory").length;
      words.textContent = files.length === 0 ? " none in the project" : ` ${count(real || files.length, real ? "file" : "path")} +${changes.lines_added} −${changes.lines_removed}`;
      body.replaceChildren(
        rest.files.length > 0 ? rows(rest.files, open) : "",
        ...folded.map((group) => fold(`+ ${group.within}  ${count(group.files.length, "new file")}`, rows(group.files, open))),
        ...apart(changes, open).filter((it) => it !== null));
    },
    hide() { element.hidden = true; },
  };
}
