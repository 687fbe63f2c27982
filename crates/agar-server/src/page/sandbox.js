// One experiment: main beside its sandbox, what happened, and the decision.

import { ask, stream } from "/assets/api.js";
import { h, tell } from "/assets/dom.js";
import { badge } from "/assets/words.js";

/**
 * @param {HTMLElement} place
 * @param {string[]} words The sandbox.
 */
export async function show(place, [id]) {
  const view = {
    state: h("p", { className: "line", "aria-live": "polite" }),
    steps: h("ul", { className: "plain" }),
    output: h("pre", { tabIndex: 0, "aria-label": "Output" }),
    changes: h("div", {}, h("p", { className: "quiet" }, "Nothing to show yet.")),
    actions: h("div", { className: "line" }),
    trouble: h("div", {}),
  };
  const name = h("h2", {}, "Sandbox");
  place.replaceChildren(name, view.state, view.actions, view.trouble,
    h("div", { className: "split" },
      h("section", { className: "card" }, h("h2", {}, "Main (safe)"),
        h("p", { className: "good" }, "🛡 Protected: nothing here changes until you apply."), view.changes),
      h("section", { className: "card" }, h("h2", {}, "Sandbox (experimental)"), view.steps, view.output)));
  const refresh = async () => {
    const status = await ask(`/api/sandbox/${id}/status`);
    name.textContent = status.alias;
    view.state.replaceChildren(badge(status.status),
      h("span", { className: "quiet" }, [`${status.runs} commands`, ...status.failureReasons].join(" · ")),
      status.error ? h("span", { className: "bad" }, status.error) : h("span", {}));
    const open = !["promoted", "discarded", "collected"].includes(status.state);
    const busy = ["creating", "running"].includes(status.status) && status.runs > 0 && status.metrics.exitCode === null;
    view.actions.replaceChildren(...(open ? [
      h("button", { className: "primary", disabled: busy, onclick: () => decide(id, "accept", view) }, "Apply to main"),
      h("button", { onclick: () => decide(id, "reject", view) }, "Discard"),
    ] : []));
    if (open && !busy) await changes(id, view);
  };
  await refresh();
  const learnt = (sign, text) => view.steps.append(h("li", {}, `${sign} ${text}`));
  return stream(`/api/sandbox/${id}/stream`, (data) => {
    if (data.type === "output") {
      view.output.append(data.text);
      view.output.scrollTop = view.output.scrollHeight;
      return;
    }
    const step = steps[data.kind];
    if (step) learnt(...step(data.data));
    if (["run.ended", "experiment.ended", "sandbox.state", "experiment.decided"].includes(data.kind)) {
      refresh().catch((error) => tell(error.message));
    }
  }, (connected) => tell(connected ? "" : "The connection was lost; trying again."));
}

/** What a line of the journal means to a person. */
const steps = {
  "sandbox.created": (data) => ["✓", `sandbox created (${data.base} base, ${data.tier} walls)`],
  "suggestion.offered": () => ["✓", "suggestion recorded"],
  "experiment.began": (data) => ["📝", `memory listens (${data.change})`],
  "run.started": (data) => ["🔄", data.argv.join(" ")],
  "run.ended": (data) => [data.end.how === "exited" && data.end.code === 0 ? "✅" : "❌", ended(data.end)],
  "limit.breached": (data) => ["❌", `stopped: ${data.breach.resource} limit reached`],
  "experiment.ended": (data) => [data.status === "success" ? "✅" : data.status === "partial" ? "⚠️" : "❌", `outcome: ${data.status}`],
  "memory.graduated": (data) => ["🎓", `${data.patterns} patterns entered memory`],
  "promotion.applied": () => ["✅", "applied to main"],
  "promotion.refused": (data) => ["⚠️", data.reason],
};

function ended(end) {
  return end.how === "exited" ? `exit ${end.code}` : end.how === "signaled" ? `ended by signal ${end.signal}` : end.how;
}

async function changes(id, view) {
  const diff = await ask(`/v1/sandboxes/${id}/diff?patch=true`);
  const files = diff.changes.files;
  const patch = h("pre", { tabIndex: 0, "aria-label": "Changes" });
  for (const line of (diff.patch ?? "").split("\n")) {
    const tone = line.startsWith("+") ? "add" : line.startsWith("-") ? "cut" : "";
    patch.append(tone ? h("span", { className: tone }, line) : `${line}\n`);
  }
  view.changes.replaceChildren(
    h("p", {}, files.length === 0 ? "No changes." : `${files.length} files changed: +${diff.changes.lines_added} −${diff.changes.lines_removed}`),
    h("ul", { className: "plain" }, ...files.map((file) => h("li", {}, `${file.change} ${file.path}`))),
    files.length === 0 ? h("span", {}) : patch);
}

async function decide(id, decision, view) {
  view.trouble.replaceChildren();
  try {
    const done = await ask(`/api/sandbox/${id}/finalize`, { decision });
    const learned = done.lessons_learned.map((lesson) => h("li", {}, `📚 ${lesson}`));
    view.trouble.replaceChildren(h("div", { className: "card" },
      h("p", {}, decision === "accept" ? "✅ Applied. `agar undo` takes it back." : "Discarded. It can be had back for a week: `agar restore --trash`."),
      h("p", { className: "quiet" }, `🎓 ${done.memories_graduated} patterns entered memory`),
      h("ul", { className: "plain" }, ...learned)));
    view.actions.replaceChildren();
  } catch (error) {
    view.trouble.replaceChildren(trouble(id, error, view));
  }
}

function trouble(id, error, view) {
  const conflicts = error.details?.conflicts ?? [];
  const checks = error.details?.checks ?? [];
  const side = (word) => async () => {
    try {
      await ask(`/v1/sandboxes/${id}/promote`, { side: word, stop: true });
      view.trouble.replaceChildren(h("p", { className: "good" }, "✅ Applied."));
    } catch (again) { tell(again.message); }
  };
  return h("div", { className: "card" }, h("p", { className: "bad" }, error.message),
    h("ul", { className: "plain" },
      ...conflicts.map((file) => h("li", {}, `${file.path}: ${file.reason ?? "both sides changed it"}`)),
      ...checks.map((check) => h("li", {}, `${check.name}: ${check.verdict}${check.reason ? `, ${check.reason}` : ""}`))),
    conflicts.length > 0 ? h("div", { className: "line" },
      h("button", { onclick: side("mine") }, "Keep mine where we differ"),
      h("button", { onclick: side("theirs") }, "Take the sandbox's where we differ")) : null);
}
