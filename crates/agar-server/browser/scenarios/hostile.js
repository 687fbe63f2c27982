// Names of files, output and suggestions that would like to be markup are text.

import { check, same, visit } from "../harness.js";

const ATTACK = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>";

export default async function ({ server, browser }) {
  await server.ask("/v1/suggestions", { text: `A ${ATTACK}`, commands: [`echo '${ATTACK.replaceAll("'", "")}'`], agent: ATTACK });
  const page = await visit(browser, server);
  const tame = async (/** @type {string} */ where) => {
    check(!(await page.title()).includes("owned"), `${where}: nothing ran`);
    same(await page.locator("main img, main script, main iframe").count(), 0, `${where}: elements from data`);
  };
  await page.locator(".suggestion", { hasText: "<img src=x" }).waitFor();
  await tame("the inbox");
  const made = await server.ask("/api/sandbox/create", {
    suggestion: `Try ${ATTACK}`,
    commands: [
      // A slash cannot be in a name, so the closing tag is written without one.
      "mkdir '<b>d<b>'; echo x > '<b>d<b>/<img src=x onerror=document.title=1>.txt'",
      "printf '%s\\n' '<img src=x onerror=alert(1)><script>alert(2)</script>' '\\033]0;owned\\007\\033[31mred' > evil.html; cat evil.html",
      "printf 'javascript:alert(1)' > link; ln -s 'javascript:alert(3)' points; exit 1",
    ],
  });
  await page.goto(`${server.origin}/#/sandbox/${made.id}`);
  await page.locator(".result.failed").waitFor();
  await page.locator(".log", { hasText: "<script>alert(2)</script>" }).waitFor();
  await tame("output");
  await page.locator(".overlay", { hasText: "<img src=x" }).waitFor();
  await page.getByRole("button", { name: "View Details" }).click();
  await page.locator(".details", { hasText: "<script>" }).waitFor();
  await tame("the changes");
  await page.getByRole("tab", { name: "Files" }).click();
  const files = page.locator(".pane.experimental .files:visible");
  await files.getByRole("button", { name: "<b>d<b>" }).click();
  await files.getByRole("button", { name: /<img src=x/ }).click();
  await files.locator("pre", { hasText: "x" }).waitFor();
  await tame("names of files");
  await page.getByRole("tab", { name: "Memory" }).click();
  await page.locator(".learned").first().waitFor();
  await tame("memory");
  // A file of a sandbox is never something that a browser would open as a page.
  const answer = await page.request.get(`${server.origin}/v1/sandboxes/${made.id}/files?path=evil.html`);
  same(answer.headers()["content-type"], "application/octet-stream", "its kind");
  same(answer.headers()["x-content-type-options"], "nosniff", "and no guessing");
  await page.getByRole("button", { name: "Discard" }).click();
  await page.locator(".result", { hasText: "Discarded" }).waitFor();
  await page.getByRole("link", { name: "Memory" }).click();
  await page.locator("main h2").first().waitFor();
  await tame("the memory panel");
}
