// Elements, and the only way that text from a sandbox gets into the page: as text.

/** @typedef {string | Node | null | undefined | false} Child */

/**
 * An element with properties, attributes, listeners (`on…`) and children; strings become text.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...Child} children
 * @returns {any}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name in element && name !== "list" && !tag.includes("-")) /** @type {any} */ (element)[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...there(children));
  return element;
}

/**
 * Puts children in the place of those that an element has.
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) { element.replaceChildren(...there(children)); }

/**
 * Those that are there: a child may be left out with `null`.
 * @param {Child[]} children
 */
function there(children) {
  return /** @type {(string | Node)[]} */ (children.filter((child) => child !== null && child !== undefined && child !== false));
}

/** How long something that was said in passing stays. */
const SAID_MS = 7000;

let saying = 0;

/**
 * Says something in passing, also to a screen reader.
 * @param {string} text
 * @param {boolean} [stays] Whether it stays until something else is said.
 */
export function tell(text, stays = false) {
  const said = document.getElementById("said");
  if (!said) return;
  said.textContent = text;
  clearTimeout(saying);
  if (text && !stays) saying = window.setTimeout(() => { said.textContent = ""; }, SAID_MS);
}

/**
 * Says what did not work, and what to do about it.
 * @param {any} error
 */
export function complain(error) { tell([error.message, error.hint].filter(Boolean).join(" "), true); }
