// Main beside its sandbox, under tabs that turn both.

import { h } from "/assets/dom.js";

/**
 * @param {string} title
 * @param {[string, string, string]} sign Its sign, its word and its tone.
 * @param {Node[]} children
 */
function pane(title, [sign, word, tone], children) {
  return h("section", { className: `pane ${tone}`, "aria-label": title },
    h("header", {}, h("h3", {}, title),
      h("span", { className: `tag ${tone === "safe" ? "good" : "warn"}` }, h("span", { "aria-hidden": "true" }, `${sign} `), word)),
    h("div", { className: "body" }, ...children));
}

/**
 * The split view.
 * @param {string} name What the sandbox is called.
 * @param {{ word: string, main: Node, sandbox: Node, shown?: () => void }[]} tabs
 */
export function split(name, tabs) {
  const buttons = tabs.map((tab, index) => h("button", {
    role: "tab", id: `tab-${index}`, "aria-controls": `panel-${index}`, onclick: () => turn(index),
  }, tab.word));
  const panels = tabs.map((tab, index) => h("div", {
    role: "tabpanel", id: `panel-${index}`, "aria-labelledby": `tab-${index}`, className: "split",
  },
  pane("Main (Safe)", ["🛡", "Protected", "safe"], [tab.main]),
  pane(`Sandbox ${name} (Experimental)`, ["🧪", "Experimenting", "experimental"], [tab.sandbox])));
  const turn = (/** @type {number} */ to, focus = false) => {
    buttons.forEach((button, index) => {
      button.setAttribute("aria-selected", String(index === to));
      button.tabIndex = index === to ? 0 : -1;
      panels[index].hidden = index !== to;
    });
    if (focus) buttons[to].focus();
    tabs[to].shown?.();
  };
  const list = h("div", {
    role: "tablist", className: "tabs", "aria-label": "What to compare",
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const here = buttons.findIndex((button) => button.tabIndex === 0);
      const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      turn((to + tabs.length) % tabs.length, true);
    },
  }, ...buttons);
  turn(0);
  return {
    element: h("div", { className: "compare" }, list, ...panels),
    /** Says what the sandbox is doing. @param {string} sign @param {string} word */
    stand(sign, word) {
      for (const panel of panels) panel.querySelector(".experimental .tag").replaceChildren(h("span", { "aria-hidden": "true" }, `${sign} `), word);
    },
  };
}
