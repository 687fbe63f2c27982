// The page: what is running, what changed, what do we believe. It asks the interface that anybody
// can ask, and sets everything that comes from a sandbox as text.

import "/assets/try-this-safely.js";

const main = document.getElementById("main");
const said = document.getElementById("said");

/** An element with properties, listeners (`on…`) and children; strings become text. */
function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function tell(text) { said.textContent = text; }

/** Asks the interface; a refusal is an error with what it says. */
async function ask(path, body, method = body === undefined ? "GET" : "POST") {
  const answer = await fetch(path, {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const told = answer.status === 204 ? {} : await answer.json();
  if (!answer.ok) {
    const error = new Error(told.error?.message ?? answer.statusText);
    Object.assign(error, { status: answer.status, ...told.error });
    throw error;
  }
  return told;
}

const signs = {
  creating: ["⚡", "creating"], running: ["🔄", "running"], success: ["✅", "success", "good"],
  partial: ["⚠️", "partial", "warn"], failed: ["❌", "failed", "bad"], paused: ["⏸", "paused"],
  finished: ["■", "finished"], promoted: ["✅", "applied", "good"], discarded: ["🗑", "discarded"],
  collected: ["·", "gone"],
};

function badge(status) {
  const [sign, word, tone] = signs[status] ?? ["", status];
  return h("span", { className: tone ?? "quiet" }, `${sign} ${word}`);
}

function age(ms) {
  const seconds = Math.max(0, (Date.now() - ms) / 1000);
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} d ago`;
}

function fail(error) {
  const hint = error.status === 401
    ? "Open the link that `agar serve` printed, or start it with --open."
    : error.remedy?.line ? `Try: ${error.remedy.line}` : "";
  main.replaceChildren(h("h2", {}, "That did not work"), h("p", {}, error.message), h("p", { className: "quiet" }, hint));
}

// What is running.

async function dashboard() {
  const [list, inbox] = await Promise.all([
    ask("/v1/sandboxes?limit=200"), ask("/v1/suggestions?state=open&limit=50"),
  ]);
  const text = h("textarea", { id: "suggestion", rows: 2, placeholder: "Upgrade every dependency" });
  const lines = h("textarea", { id: "commands", rows: 3, className: "code", placeholder: "npm update\nnpm test", spellcheck: false });
  const button = h("try-this-safely", { onsandbox: made, onfailed: (event) => tell(event.detail.message) });
  const update = () => {
    button.setAttribute("commands", JSON.stringify(lines.value.split("\n").filter((line) => line.trim())));
    button.setAttribute("suggestion", text.value.trim());
  };
  text.addEventListener("change", update);
  lines.addEventListener("input", update);
  main.replaceChildren(
    h("section", { className: "card", "aria-label": "Try something" },
      h("label", { htmlFor: "suggestion" }, "What do you want to try?"), text,
      h("label", { htmlFor: "commands" }, "Commands, one a line"), lines,
      h("p", { className: "quiet" }, "They run in a copy of your machine. Nothing outside changes until you apply it."),
      button),
    h("h2", {}, "Inbox"),
    inbox.suggestions.length === 0
      ? h("p", { className: "quiet" }, "Nothing waits. An agent or an editor can offer changes with POST /v1/suggestions.")
      : h("ul", { className: "cards" }, ...inbox.suggestions.map(offered)),
    h("h2", {}, "Sandboxes"),
    list.sandboxes.length === 0
      ? h("p", { className: "quiet" }, "No sandboxes yet. Try something above, or type `agar try -- COMMAND`.")
      : h("ul", { className: "cards" }, ...list.sandboxes.reverse().map(card)),
  );
}

function made(event) { location.hash = `#/sandbox/${event.detail.id}`; }

function offered(suggestion) {
  const act = (verb, then) => async () => {
    try { then(await ask(`/v1/suggestions/${suggestion.id}/${verb}`, {})); } catch (error) { tell(error.message); }
  };
  return h("li", { className: "card" },
    h("div", { className: "line spread" }, h("strong", {}, suggestion.text),
      h("span", { className: "quiet" }, `${suggestion.agent} · ${age(suggestion.created_at)}`)),
    suggestion.commands.length > 0 ? h("pre", {}, suggestion.commands.join("\n")) : null,
    h("div", { className: "line" },
      h("button", { className: "primary", onclick: act("try", (sandbox) => { location.hash = `#/sandbox/${sandbox.id}`; }) }, "🧪 Try This Safely"),
      h("button", { onclick: act("reject", () => { tell("Rejected."); route(); }) }, "Reject")));
}

function card(sandbox) {
  return h("li", { className: "card" },
    h("div", { className: "line spread" },
      h("a", { href: `#/sandbox/${sandbox.id}` }, sandbox.alias),
      badge(sandbox.state),
      h("span", { className: "quiet" }, age(sandbox.touched_at))),
    h("div", { className: "line quiet" },
      h("span", {}, sandbox.note ?? sandbox.last_run?.command ?? "no command yet"),
      h("span", {}, sandbox.changed_files === null ? "" : `${sandbox.changed_files} changed`)));
}

// One experiment.

let stream = null;

async function experiment(id) {
  const view = {
    state: h("p", { className: "line", "aria-live": "polite" }),
    steps: h("ul", { className: "plain" }),
    output: h("pre", { tabIndex: 0, "aria-label": "Output" }),
    changes: h("div", {}, h("p", { className: "quiet" }, "Nothing to show yet.")),
    actions: h("div", { className: "line" }),
    trouble: h("div", {}),
  };
  const name = h("h2", {}, "Sandbox");
  main.replaceChildren(name, view.state, view.actions, view.trouble,
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
  stream = new EventSource(`/api/sandbox/${id}/stream`);
  stream.onmessage = (event) => {
    const data = JSON.parse(event.data);
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
  };
  // It comes back by itself, from the last message it has.
  stream.onerror = () => tell("The connection was lost; trying again.");
  stream.onopen = () => tell("");
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

// What do we believe.

async function memory() {
  const [lessons, stats] = await Promise.all([ask("/api/memory/lessons"), ask("/v1/memory/stats")]);
  const list = (items, empty, line) => items.length === 0
    ? h("p", { className: "quiet" }, empty)
    : h("ul", { className: "cards" }, ...items.map((item) => h("li", { className: "card" }, ...line(item))));
  main.replaceChildren(
    h("p", { className: "quiet" }, `${stats.experiments} experiments remembered here · ${lessons.hidden} findings hidden: expired or retired`),
    h("h2", {}, "🎓 Patterns"),
    list(lessons.patterns, "None has earned it yet: a pattern must hold in several experiments.", (it) => [
      h("div", {}, it.sentence), h("div", { className: "quiet" }, `${Math.round(it.confidence * 100)} % · ${it.worked} worked, ${it.failed} failed`)]),
    h("h2", {}, "📚 Lessons"),
    list(lessons.lessons, "Nothing has failed yet.", (it) => [
      h("div", {}, it.sentence), h("div", { className: "quiet" }, `${it.state} · failed ${it.failed}, worked ${it.worked}`)]),
  );
}

async function route() {
  stream?.close();
  stream = null;
  tell("");
  const [, page, id] = location.hash.split("/");
  try {
    if (page === "sandbox" && id) await experiment(decodeURIComponent(id));
    else if (page === "memory") await memory();
    else await dashboard();
  } catch (error) { fail(error); }
}

addEventListener("hashchange", () => { main.focus(); route(); });
ask("/v1/projects").then((told) => {
  const here = told.projects.find((project) => project.current);
  document.getElementById("where").textContent = here ? here.path : "";
}).catch(() => {});
route();
