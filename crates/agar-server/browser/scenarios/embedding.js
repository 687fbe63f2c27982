// The button in a page of another origin: allowed once by the person, it offers, and does nothing else.

import { createServer } from "node:http";
import { check, same, until, visit } from "../harness.js";

/** Serves one page from another port of this machine. */
function elsewhere(text) {
  return new Promise((resolve) => {
    const site = createServer((_, answer) => {
      answer.setHeader("content-type", "text/html; charset=utf-8");
      answer.end(text());
    });
    site.listen(0, "127.0.0.1", () => resolve(site));
  });
}

export default async function ({ server, browser }) {
  let token = "guest-none";
  const site = await elsewhere(() => `<!doctype html><meta charset=utf-8><title>Editor</title>
    <script type="module" src="${server.origin}/assets/try-this-safely.js"></script>
    <try-this-safely server="${server.origin}" token="${token}" suggestion="Use a faster sort"
      commands='["true"]'></try-this-safely>`);
  const origin = `http://127.0.0.1:${site.address().port}`;
  const page = await visit(browser, server);
  const guest = await page.context().newPage();
  // Before it was allowed, not even the script loads; the browser says so, and rightly.
  await guest.goto(origin);
  await until("the refusal", () => browser.complaints.some((text) => text.includes("CORS")));
  check(await guest.evaluate(() => !customElements.get("try-this-safely")), "there is no button yet");
  browser.complaints.length = 0;
  const told = await page.evaluate(async (origin) => {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch("/v1/origins", { method: "POST", headers, body: JSON.stringify({ origin }) });
    return answer.json();
  }, origin);
  token = told.token;
  await guest.goto(origin);
  await guest.getByRole("button", { name: "Try This Safely" }).click();
  await guest.getByText("Waits in agar's inbox").waitFor();
  const inbox = await server.ask("/v1/suggestions");
  same(inbox.suggestions.map((it) => [it.text, it.agent]), [["Use a faster sort", origin]], "the inbox");
  same((await server.ask("/v1/sandboxes")).sandboxes.length, 0, "sandboxes");
  // With its token it reads nothing else.
  const refused = await guest.evaluate(([at, token]) => fetch(`${at}/v1/sandboxes`, {
    headers: { Authorization: `Bearer ${token}` },
  }).then(() => "answered", () => "refused"), [server.origin, token]);
  same(refused, "refused", "what it may read");
  browser.complaints.length = 0;
  site.close();
}
