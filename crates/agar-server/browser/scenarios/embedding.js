// The demo page of another origin: before it is allowed it says what to do; the person allows it on agar's
// page; then its button offers, and does nothing else; once removed it is refused.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { check, same, until, visit } from "../harness.js";

const demo = readFileSync(new URL("../../../../examples/embedding/index.html", import.meta.url), "utf8");

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
  // As the file is, but for where this test's server listens.
  let text = demo.replaceAll("http://127.0.0.1:7727", server.origin);
  const site = await elsewhere(() => text);
  const origin = `http://127.0.0.1:${site.address().port}`;
  const page = await visit(browser, server);
  const guest = await page.context().newPage();
  // Before it was allowed, not even the script loads; the browser says so, and rightly. The page says what to do.
  await guest.goto(origin);
  await until("the refusal", () => browser.complaints.some((line) => line.includes("CORS")));
  check(await guest.evaluate(() => !customElements.get("try-this-safely")), "there is no button yet");
  await guest.getByText("does not let this page in yet").waitFor();
  same(await guest.locator("code.origin").textContent(), origin, "the address to allow");
  browser.complaints.length = 0;

  // The link leads to the form, filled in; only the person's own press allows it.
  const opened = page.context().waitForEvent("page");
  await guest.getByRole("link", { name: "Open agar's settings" }).click();
  const settings = await opened;
  await settings.getByText("asks to be allowed").waitFor();
  same(await settings.getByLabel("Address of the page").inputValue(), origin, "the form");
  await settings.getByText("No other page may offer anything yet").waitFor();
  await settings.getByRole("button", { name: "Allow" }).click();
  const line = await settings.getByRole("region", { name: `Script for ${origin}` }).textContent();
  check(line.startsWith(`<script type="module" src="${server.origin}/assets/try-this-safely.js?token=guest-`), line);
  // An address that is none is said to be none.
  await settings.getByLabel("Address of the page").fill("file:///home/ann/demo.html");
  await settings.getByRole("button", { name: "Allow" }).click();
  await settings.getByText("not the address of a page").waitFor();

  // The person pastes the line in the place of the script tag.
  text = text.replace(/<script type="module".*<\/script>/, () => line);
  await guest.goto(origin);
  await guest.getByRole("button", { name: "Apply Directly" }).waitFor();
  check(!await guest.getByText("does not let this page in yet").isVisible(), "what to do is not said any more");
  await guest.getByRole("button", { name: "Reject" }).click();
  await guest.getByText("Rejected. Nothing was sent.").waitFor();
  same((await server.ask("/v1/suggestions")).suggestions.length, 0, "the inbox");
  await guest.reload();
  await guest.getByRole("button", { name: "Try This Safely" }).click();
  await guest.getByText("Waits in agar's inbox").waitFor();
  const inbox = await server.ask("/v1/suggestions");
  const words = "Sort the orders once, when they are read";
  same(inbox.suggestions.map((it) => [it.text, it.agent]), [[words, origin]], "the inbox");
  same((await server.ask("/v1/sandboxes")).sandboxes.length, 0, "sandboxes");
  await page.goto(`${server.origin}/#/`);
  await page.locator(".suggestion", { hasText: words }).getByText(`from ${origin}`).waitFor();
  // With its token it reads nothing else.
  const token = new URL(line.match(/src="([^"]+)"/)[1]).searchParams.get("token");
  const refused = await guest.evaluate(([at, token]) => fetch(`${at}/v1/sandboxes`, {
    headers: { Authorization: `Bearer ${token}` },
  }).then(() => "answered", () => "refused"), [server.origin, token]);
  same(refused, "refused", "what it may read");

  // Taken off the list: the page that is open is refused at once, and says what to do.
  await guest.reload();
  await guest.getByRole("button", { name: "Apply Directly" }).waitFor();
  await settings.getByRole("button", { name: `Remove ${origin}` }).click();
  await settings.locator("dialog").getByRole("button", { name: "Remove" }).click();
  await settings.getByText("No other page may offer anything yet").waitFor();
  await guest.getByRole("button", { name: "Apply Directly" }).click();
  await guest.getByText("agar did not take it").waitFor();
  await guest.getByRole("link", { name: "Allow them in agar" }).waitFor();
  same((await server.ask("/v1/suggestions")).suggestions.length, 1, "nothing more was offered");
  // And there is no button after a reload.
  await guest.reload();
  await guest.getByText("does not let this page in yet").waitFor();
  check(await guest.evaluate(() => !customElements.get("try-this-safely")), "there is no button any more");
  browser.complaints = browser.complaints.filter((line) => !line.includes("CORS"));
  site.close();
}
