// The changes of a sandbox, floating over everything until they are put away.

import { h } from "/assets/dom.js";
import { count } from "/assets/words.js";

const KEY = "agar.changes";

/** @type {Record<string, string>} */
const signs = { added: "+", modified: "~", deleted: "−", renamed: "→", mode: "~", type: "~" };

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
  return {
    element,
    /** @param {any} changes */
    show(changes) {
      const files = [...changes.files, ...changes.outside];
      element.hidden = files.length === 0;
      words.textContent = ` ${count(files.length, "file")} +${changes.lines_added} −${changes.lines_removed}`;
      body.replaceChildren(h("ul", { className: "plain" }, ...files.slice(0, 100).map((file) => h("li", {},
        h("button", { className: "link", onclick: () => open(file.path) },
          h("span", { className: `change ${file.change}` }, signs[file.change] ?? "·"),
          h("span", { className: "said-only" }, ` ${file.change} `), file.path),
        h("span", { className: "quiet" }, file.binary ? "binary" : file.what === "file" && file.added !== null ? `+${file.added} −${file.removed}` : file.what))),
      files.length > 100 ? h("li", { className: "quiet" }, `and ${files.length - 100} more`) : null));
    },
    hide() { element.hidden = true; },
  };
}
