// <try-this-safely suggestion="…" commands='["make test"]'>: a button that tries a suggestion in a
// sandbox, with how likely it is to work. Needs nothing but this file and the interface.
//
// Everything it shows is set as text. It sends `sandbox` when one was made and `failed` when not.

const sheet = new CSSStyleSheet();
sheet.replaceSync(`
  :host { display: inline-block; position: relative; font: 16px/1.4 system-ui, sans-serif; }
  button {
    font: inherit; font-weight: 600; color: #fff; border: 0; border-radius: .6rem;
    padding: .55rem 1rem; cursor: pointer;
    background: linear-gradient(90deg, #7c4dff, #2f6bff);
    box-shadow: 0 0 .9rem rgb(124 77 255 / .55); transition: transform .15s, box-shadow .15s;
  }
  button:hover:not(:disabled) { transform: scale(1.03); box-shadow: 0 0 1.3rem rgb(124 77 255 / .8); }
  button:focus-visible { outline: 3px solid #2f6bff; outline-offset: 3px; }
  button:disabled { opacity: .6; cursor: progress; }
  .badge {
    display: inline-block; margin-left: .5rem; padding: 0 .5rem; border-radius: 1rem;
    font-size: .8rem; color: #111;
  }
  .green { background: #7be39a; } .yellow { background: #ffd866; } .red { background: #ff9d94; }
  @media (prefers-reduced-motion: reduce) { button { transition: none; } }
`);

/** The sign and the word for a probability, as the seed draws them. */
const bands = { green: ["✓", "likely"], yellow: ["?", "open"], red: ["!", "unlikely"] };

class TryThisSafely extends HTMLElement {
  static observedAttributes = ["suggestion"];

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    this.button = document.createElement("button");
    this.button.type = "button";
    this.button.title = "Creates an isolated environment to safely test this suggestion";
    this.label = document.createElement("span");
    this.badge = document.createElement("span");
    this.button.append(this.label, this.badge);
    root.append(this.button);
    this.button.addEventListener("click", () => this.try());
    this.show("🧪 Try This Safely");
  }

  connectedCallback() { this.ask(); }
  attributeChangedCallback() { if (this.isConnected) this.ask(); }

  get base() { return this.getAttribute("server") ?? ""; }
  get suggestion() { return this.getAttribute("suggestion") ?? ""; }
  get commands() {
    try { return JSON.parse(this.getAttribute("commands") ?? "[]"); } catch { return []; }
  }

  show(text, disabled = false) {
    this.label.textContent = text;
    this.button.disabled = disabled;
  }

  /** Asks how likely it is to work; says nothing without evidence. */
  async ask() {
    this.badge.className = "";
    this.badge.textContent = "";
    if (!this.suggestion) return;
    const answer = await this.post("/api/confidence/calculate", { suggestion: this.suggestion });
    if (!answer.ok) return;
    const told = await answer.json();
    if (!told.known) return;
    const [sign, word] = bands[told.band] ?? ["", ""];
    this.badge.className = `badge ${told.band}`;
    this.badge.textContent = `${sign} ${Math.round(told.confidence * 100)} % ${word}`;
    this.badge.title = told.headline;
  }

  async try() {
    this.show("⚡ Creating sandbox…", true);
    try {
      const answer = await this.post("/api/sandbox/create", {
        suggestion: this.suggestion, commands: this.commands,
      });
      const told = await answer.json();
      if (!answer.ok) throw new Error(told.error?.message ?? answer.statusText);
      this.dispatchEvent(new CustomEvent("sandbox", { detail: told, bubbles: true, composed: true }));
    } catch (error) {
      this.dispatchEvent(new CustomEvent("failed", { detail: error, bubbles: true, composed: true }));
    } finally {
      this.show("🧪 Try This Safely");
    }
  }

  post(path, body) {
    return fetch(this.base + path, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
  }
}

customElements.define("try-this-safely", TryThisSafely);
