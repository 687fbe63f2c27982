// <try-this-safely suggestion="…" commands='["make test"]'>: a button that tries a suggestion in a
// sandbox, with how likely it is to work. Needs nothing but this file and the interface.
//
// Everything it shows is set as text. It sends `creating` when it begins, `sandbox` when one was
// made and `failed` when not. With `suggestion-id` it tries a suggestion of the inbox. With `choices`
// two more buttons stand beside it: to apply directly, and to reject. `confidence="hidden"` hides the
// number.
//
// In a page of another origin it is a guest: the address of this script has the server and the
// origin's token (`?token=guest-…`; attributes `server` and `token` say the same for one element).
// A guest may only offer the suggestion to the inbox, where a person decides. It sends `offered` or
// `rejected`, and says itself what to do when it was not let in.

const sheet = new CSSStyleSheet();
sheet.replaceSync(`
  :host { display: inline-block; font: 600 1rem/1.4 system-ui, sans-serif; }
  .row { display: inline-flex; flex-wrap: wrap; gap: .75rem; align-items: center; }
  .main { display: inline-block; position: relative; }
  button {
    display: inline-flex; align-items: center; font: inherit; font-weight: 500; padding: .5rem 1rem; min-height: 2.75rem;
    border-radius: .6rem; border: 1px solid GrayText; background: Canvas; color: CanvasText; cursor: pointer;
  }
  .main button {
    gap: .5rem; font-weight: 600; color: #fff; border: 0; padding: .6rem 1.1rem;
    background: linear-gradient(90deg, #9333ea, #2563eb);
    box-shadow: 0 .25rem .9rem rgb(124 58 237 / .45);
    transition: transform .2s, box-shadow .2s, filter .2s;
    animation: glow 3.2s ease-in-out infinite;
  }
  @keyframes glow {
    50% { box-shadow: 0 .25rem 1.5rem rgb(124 58 237 / .75); }
  }
  .main button:hover:not(:disabled) { transform: scale(1.04); filter: brightness(1.08); }
  button:focus-visible { outline: 3px solid #7c3aed; outline-offset: 3px; }
  button:disabled { opacity: .7; cursor: default; animation: none; }
  .busy button:disabled { cursor: progress; }
  .note { margin: .6rem 0 0; max-width: 34rem; font: 500 .9rem/1.5 system-ui, sans-serif; }
  .note:empty { display: none; }
  .note a { color: inherit; }
  .small { font-weight: 500; font-size: .82rem; }
  .mark {
    position: absolute; top: -.75rem; right: -.75rem; width: 1.5rem; height: 1.5rem;
    border-radius: 50%; display: grid; place-items: center; font: 700 .8rem/1 system-ui, sans-serif;
    color: #111; border: 2px solid Canvas; pointer-events: none;
  }
  .green { background: #22c55e; } .yellow { background: #eab308; } .red { background: #f87171; }
  .tip {
    position: absolute; bottom: calc(100% + .6rem); left: 0; width: max-content; max-width: min(20rem, 80vw);
    background: #18181b; color: #fff; font: 500 .8rem/1.4 system-ui, sans-serif; padding: .4rem .65rem;
    border-radius: .4rem; opacity: 0; visibility: hidden; transition: opacity .15s; pointer-events: none; z-index: 5;
  }
  .main:hover .tip, button:focus-visible ~ .tip { opacity: 1; visibility: visible; }
  .spin { width: 1em; height: 1em; border: 2px solid rgb(255 255 255 / .4); border-top-color: #fff; border-radius: 50%; animation: turn .8s linear infinite; }
  @keyframes turn { to { transform: rotate(1turn); } }
  [hidden] { display: none; }
  @media (prefers-reduced-motion: reduce) {
    .main button { animation: none; transition: none; } .spin { animation: none; } .tip { transition: none; }
    .main button:hover:not(:disabled) { transform: none; }
  }
`);

/** @type {Record<string, [string, string]>} The sign and the word for a probability, as the seed draws them. */
const bands = { green: ["✓", "🟢 High confidence"], yellow: ["?", "🟡 Medium confidence"], red: ["!", "🔴 Low confidence"] };

/** Where this script came from: the server that it asks, and the token of the page that it is in. */
const home = new URL(import.meta.url);

const PURPOSE = "Creates an isolated environment to safely test this suggestion";

/**
 * @param {string} tag
 * @param {string} [name]
 */
function part(tag, name = "") {
  const made = document.createElement(tag);
  made.className = name;
  return made;
}

class TryThisSafely extends HTMLElement {
  static observedAttributes = ["suggestion", "choices"];

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    this.button = this.choice("", () => this.try());
    this.button.setAttribute("aria-describedby", "tip");
    this.spin = part("span", "spin");
    this.label = part("span");
    this.sure = part("span", "small");
    this.button.append(this.spin, this.label, this.sure);
    this.mark = part("span", "mark");
    this.mark.setAttribute("aria-hidden", "true");
    this.tip = part("span", "tip");
    this.tip.id = "tip";
    this.tip.setAttribute("role", "tooltip");
    this.main = part("span", "main");
    this.main.append(this.button, this.mark, this.tip);
    this.direct = this.choice("Apply Directly", () => this.apply());
    this.reject = this.choice("Reject", () => this.refuse());
    this.note = part("p", "note");
    this.note.setAttribute("role", "status");
    const row = part("span", "row");
    row.append(this.main, this.direct, this.reject);
    root.append(row, this.note);
    this.clear();
    this.rest();
  }

  connectedCallback() { this.ask(); }
  attributeChangedCallback() {
    this.direct.hidden = this.reject.hidden = !this.hasAttribute("choices");
    if (!this.isConnected) return;
    // Another suggestion has not been decided yet.
    if (this.settled) this.rest();
    this.ask();
  }

  get base() { return this.getAttribute("server") ?? home.origin; }
  get token() { return this.getAttribute("token") ?? home.searchParams.get("token"); }
  /** Whether the page around it is not the server's own. */
  get guest() { return this.base !== location.origin; }
  get suggestion() { return this.getAttribute("suggestion") ?? ""; }
  /** @returns {string[]} */
  get commands() {
    try { return JSON.parse(this.getAttribute("commands") ?? "[]"); } catch { return []; }
  }

  /**
   * @param {string} word
   * @param {() => void} go
   */
  choice(word, go) {
    const button = /** @type {HTMLButtonElement} */ (part("button"));
    button.type = "button";
    button.textContent = word;
    button.addEventListener("click", go);
    return button;
  }

  /** Ready to be pressed. */
  rest() {
    this.settled = false;
    this.label.textContent = "🧪 Try This Safely";
    this.spin.hidden = true;
    this.sure.hidden = false;
    this.main.classList.remove("busy");
    this.direct.hidden = this.reject.hidden = !this.hasAttribute("choices");
    this.hold(false);
    this.note.replaceChildren();
  }

  /** Lets nothing be pressed, or everything. @param {boolean} on */
  hold(on) { this.button.disabled = this.direct.disabled = this.reject.disabled = on; }

  /**
   * Says something below the buttons, with a way on.
   * @param {string} words
   * @param {{ word: string, to: string }} [link]
   */
  say(words, link) {
    this.note.textContent = words;
    if (!link) return;
    const way = /** @type {HTMLAnchorElement} */ (part("a"));
    way.href = this.base + link.to;
    way.target = "_blank";
    way.rel = "noopener";
    way.textContent = link.word;
    this.note.append(" ", way);
  }

  /** Says nothing about confidence. */
  clear() {
    this.mark.hidden = true;
    this.mark.className = "mark";
    this.sure.textContent = "";
    this.tip.textContent = PURPOSE;
  }

  /** Asks how likely it is to work; says nothing without evidence. */
  async ask() {
    const asked = this.suggestion;
    this.clear();
    if (!asked || this.getAttribute("confidence") === "hidden") return;
    const answer = await this.post("/api/confidence/calculate", { suggestion: asked }).catch(() => null);
    if (!answer?.ok) return;
    const told = await answer.json();
    // Somebody may have typed on meanwhile.
    if (!told.known || asked !== this.suggestion) return;
    const [sign, word] = bands[told.band] ?? ["", ""];
    this.mark.className = `mark ${told.band}`;
    this.mark.textContent = sign;
    this.mark.hidden = false;
    this.sure.textContent = `(${Math.round(told.confidence * 100)} % confident)`;
    this.tip.textContent = `${PURPOSE}. ${word}: ${told.headline}`;
  }

  /** Makes a sandbox and tries it there; a guest offers it. */
  async try() {
    if (this.button.disabled) return;
    if (this.guest) {
      await this.offer({}, "Decide there what becomes of it.");
      return;
    }
    const known = this.getAttribute("suggestion-id");
    const [path, body] = known
      ? [`/v1/suggestions/${encodeURIComponent(known)}/try`, {}]
      : ["/api/sandbox/create", { suggestion: this.suggestion, commands: this.commands }];
    this.work("Creating sandbox…");
    try {
      const told = await this.told(path, body);
      this.rest();
      this.send("sandbox", told);
    } catch (error) {
      this.rest();
      this.send("failed", error);
    }
  }

  /** Wants it applied without looking: the page around it knows how, a guest can only ask for it. */
  async apply() {
    if (this.guest) await this.offer({ wish: "apply" }, "Press Apply Directly there.");
    else this.send("apply", null);
  }

  /** Does not want it. A guest has told nobody of it yet, and does not. */
  refuse() {
    if (this.guest) {
      this.settle();
      this.say("Rejected. Nothing was sent.");
      this.send("rejected", null);
    } else this.send("reject", null);
  }

  /**
   * Offers the suggestion to the inbox.
   * @param {object} context
   * @param {string} then What to do there.
   */
  async offer(context, then) {
    this.work("Sending to agar…");
    try {
      const told = await this.told("/v1/suggestions", { text: this.suggestion, commands: this.commands, context });
      this.rest();
      this.settle();
      this.label.textContent = "✓ Waits in agar's inbox";
      this.say(`Nothing has run. ${then}`, { word: "Open agar", to: "/#/" });
      this.send("offered", told);
    } catch (error) {
      this.rest();
      const here = encodeURIComponent(location.origin);
      this.say(`agar did not take it. Is it running, and may pages of ${location.origin} offer suggestions?`, { word: "Allow them in agar", to: `/#/settings/${here}` });
      this.send("failed", error);
    }
  }

  /** Nothing is left to decide here. */
  settle() {
    this.settled = true;
    this.sure.hidden = true;
    this.direct.hidden = this.reject.hidden = true;
    this.hold(true);
  }

  /** Is busy. @param {string} words */
  work(words) {
    this.label.textContent = words;
    this.spin.hidden = false;
    this.sure.hidden = true;
    this.note.replaceChildren();
    this.main.classList.add("busy");
    this.hold(true);
    this.send("creating", null);
  }

  /**
   * @param {string} name
   * @param {any} detail
   */
  send(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  /**
   * What was answered; a refusal is thrown.
   * @param {string} path
   * @param {object} body
   */
  async told(path, body) {
    const answer = await this.post(path, body);
    const told = await answer.json();
    const line = told.error?.remedy?.line;
    if (!answer.ok) throw Object.assign(new Error(told.error?.message ?? answer.statusText), { hint: line ? `Try: ${line}` : "" });
    return told;
  }

  /**
   * @param {string} path
   * @param {object} body
   */
  post(path, body) {
    return fetch(this.base + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(this.guest ? { Authorization: `Bearer ${this.token}` } : {}) },
      body: JSON.stringify(body),
    });
  }
}

customElements.define("try-this-safely", TryThisSafely);
