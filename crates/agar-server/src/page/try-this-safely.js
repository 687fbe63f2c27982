// <try-this-safely suggestion="…" commands='["make test"]'>: a button that tries a suggestion in a
// sandbox, with how likely it is to work. Needs nothing but this file and the interface.
//
// Everything it shows is set as text. It sends `creating` when it begins, `sandbox` when one was
// made and `failed` when not. With `suggestion-id` it tries a suggestion of the inbox. With `token`
// it is a guest in a page of another origin: it may only offer the suggestion to the inbox of
// `server`, where a person tries it, and sends `offered`. `confidence="hidden"` hides the number.

const sheet = new CSSStyleSheet();
sheet.replaceSync(`
  :host { display: inline-block; position: relative; font: 600 1rem/1.4 system-ui, sans-serif; }
  button {
    display: inline-flex; align-items: center; gap: .5rem; font: inherit; color: #fff; border: 0;
    border-radius: .6rem; padding: .6rem 1.1rem; cursor: pointer; min-height: 2.75rem;
    background: linear-gradient(90deg, #9333ea, #2563eb);
    box-shadow: 0 .25rem .9rem rgb(124 58 237 / .45);
    transition: transform .2s, box-shadow .2s, filter .2s;
    animation: glow 3.2s ease-in-out infinite;
  }
  @keyframes glow {
    50% { box-shadow: 0 .25rem 1.5rem rgb(124 58 237 / .75); }
  }
  button:hover:not(:disabled) { transform: scale(1.04); filter: brightness(1.08); }
  button:focus-visible { outline: 3px solid #7c3aed; outline-offset: 3px; }
  button:disabled { opacity: .7; cursor: progress; animation: none; }
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
  :host(:hover) .tip, button:focus-visible ~ .tip { opacity: 1; visibility: visible; }
  .spin { width: 1em; height: 1em; border: 2px solid rgb(255 255 255 / .4); border-top-color: #fff; border-radius: 50%; animation: turn .8s linear infinite; }
  @keyframes turn { to { transform: rotate(1turn); } }
  [hidden] { display: none; }
  @media (prefers-reduced-motion: reduce) {
    button { animation: none; transition: none; } .spin { animation: none; } .tip { transition: none; }
    button:hover:not(:disabled) { transform: none; }
  }
`);

/** @type {Record<string, [string, string]>} The sign and the word for a probability, as the seed draws them. */
const bands = { green: ["✓", "🟢 High confidence"], yellow: ["?", "🟡 Medium confidence"], red: ["!", "🔴 Low confidence"] };

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
  static observedAttributes = ["suggestion"];

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    this.button = /** @type {HTMLButtonElement} */ (part("button"));
    this.button.type = "button";
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
    root.append(this.button, this.mark, this.tip);
    this.button.addEventListener("click", () => this.try());
    this.clear();
    this.rest();
  }

  connectedCallback() { this.ask(); }
  attributeChangedCallback() { if (this.isConnected) this.ask(); }

  get base() { return this.getAttribute("server") ?? ""; }
  get suggestion() { return this.getAttribute("suggestion") ?? ""; }
  /** @returns {string[]} */
  get commands() {
    try { return JSON.parse(this.getAttribute("commands") ?? "[]"); } catch { return []; }
  }

  /** Ready to be pressed. */
  rest() {
    this.label.textContent = "🧪 Try This Safely";
    this.spin.hidden = true;
    this.sure.hidden = false;
    this.button.disabled = false;
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

  /** Makes a sandbox and tries it there. */
  async try() {
    if (this.button.disabled) return;
    const guest = this.hasAttribute("token");
    this.label.textContent = guest ? "Sending to agar…" : "Creating sandbox…";
    this.spin.hidden = false;
    this.sure.hidden = true;
    this.button.disabled = true;
    this.send("creating", null);
    try {
      const known = this.getAttribute("suggestion-id");
      const answer = guest
        ? await this.post("/v1/suggestions", { text: this.suggestion, commands: this.commands })
        : known
          ? await this.post(`/v1/suggestions/${encodeURIComponent(known)}/try`, {})
          : await this.post("/api/sandbox/create", { suggestion: this.suggestion, commands: this.commands });
      const told = await answer.json();
      if (!answer.ok) throw new Error(told.error?.message ?? answer.statusText);
      this.rest();
      if (guest) this.label.textContent = "✓ Waits in agar's inbox";
      this.send(guest ? "offered" : "sandbox", told);
    } catch (error) {
      this.rest();
      this.send("failed", error);
    }
  }

  /**
   * @param {string} name
   * @param {any} detail
   */
  send(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  /**
   * @param {string} path
   * @param {object} body
   */
  post(path, body) {
    const token = this.getAttribute("token");
    return fetch(this.base + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) },
      body: JSON.stringify(body),
    });
  }
}

customElements.define("try-this-safely", TryThisSafely);
