// What a person can choose about the page, and where everything else is chosen.

import { ask } from "/assets/api.js";
import { h, tell } from "/assets/dom.js";
import { guests } from "/assets/guests.js";
import { setWish, wished } from "/assets/wishes.js";

/** @type {{ wish: import("/assets/wishes.js").Wish, name: string, says: string }[]} */
const choices = [
  { wish: "hide-confidence", name: "Hide confidence",
    says: "No percentages and no bands beside suggestions, patterns and lessons. What was seen, and how often, stays." },
  { wish: "stand-still", name: "Do not refresh by itself",
    says: "Lists and sparklines stay as they were when the view was opened." },
];

/**
 * @param {HTMLElement} place
 * @param {string[]} words An origin that asks to be allowed, where a link of its page led here.
 */
export async function show(place, [asking = ""]) {
  const [health, others] = await Promise.all([ask("/healthz"), guests(asking)]);
  place.replaceChildren(
    h("h2", {}, "Settings"),
    h("section", { className: "card", "aria-label": "This page" },
      ...choices.map(choice),
      h("p", { className: "quiet" }, "Kept in this browser alone.")),
    h("h2", {}, "Other pages"),
    others,
    h("h2", {}, "Elsewhere"),
    h("section", { className: "card", "aria-label": "Elsewhere" },
      h("dl", { className: "facts" },
        h("dt", {}, "Limits, network, checks"), h("dd", {}, h("code", {}, "agar.toml"), " in the project; ", h("code", {}, "agar config show --origin"), " says where each value comes from."),
        h("dt", {}, "For programs"), h("dd", {}, h("a", { href: "/openapi.json" }, "the description of the interface"), ", ", h("a", { href: "/metrics" }, "counters for Prometheus")),
        h("dt", {}, "Version"), h("dd", {}, `agar ${health.version}`))));
}

/** @param {(typeof choices)[number]} choice */
function choice({ wish, name, says }) {
  const id = `wish-${wish}`;
  const box = h("input", { type: "checkbox", id, checked: wished(wish), "aria-describedby": `${id}-says`,
    onchange: () => {
      setWish(wish, box.checked);
      tell(`${name}: ${box.checked ? "on" : "off"}.`);
    } });
  return h("div", { className: "wish" }, box,
    h("div", {}, h("label", { htmlFor: id }, name), h("p", { className: "quiet", id: `${id}-says` }, says)));
}
