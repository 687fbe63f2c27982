// The seed's signs, each with its word, and numbers as a person says them.

import { h } from "/assets/dom.js";

/** @type {Record<string, [string, string, string?]>} Sign, word and tone of a status. */
const signs = {
  creating: ["⚡", "Creating", "busy"], running: ["🔄", "Running", "busy"], success: ["✅", "Success", "good"],
  partial: ["⚠️", "Partial", "warn"], failed: ["❌", "Failed", "bad"], paused: ["⏸", "Paused"],
  finished: ["■", "Finished"], promoted: ["✅", "Applied", "good"], discarded: ["🗑", "Discarded"],
  collected: ["·", "Gone"], waiting: ["⏳", "Waiting for commands"],
};

/**
 * A status as a sign and a word.
 * @param {string} status
 */
export function badge(status) {
  const [sign, word, tone] = signs[status] ?? ["", status];
  return h("span", { className: `badge ${tone ?? "quiet"}` }, h("span", { "aria-hidden": "true" }, sign), ` ${word}`);
}

/**
 * How long ago something was.
 * @param {number} ms When, since 1970.
 */
export function age(ms) {
  const seconds = Math.max(0, (Date.now() - ms) / 1000);
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} d ago`;
}

/**
 * How long something took.
 * @param {number} ms
 */
export function took(ms) {
  if (ms < 1) return "under 1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

/**
 * A number of bytes.
 * @param {number} bytes
 */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  if (bytes < 1e9) return `${(bytes / 1e6).toFixed(1)} MB`;
  return `${(bytes / 1e9).toFixed(1)} GB`;
}

/**
 * A number and the noun it counts.
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 */
export function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}

/**
 * A sentence in which `this` is code.
 * @param {string} text
 * @returns {(string | Node)[]}
 */
export function prose(text) {
  return text.split("`").map((part, index, all) => (index % 2 === 1 && index < all.length - 1 ? h("code", {}, part) : part));
}
