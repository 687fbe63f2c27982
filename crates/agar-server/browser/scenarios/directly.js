// Apply Directly is never an unisolated write: it goes through a sandbox, and only success is
// applied.

import { check, has, read, until, visit } from "../harness.js";

export default async function ({ server, browser }) {
  await server.ask("/v1/suggestions", { text: "Works", commands: ["echo fine > fine.txt"] });
  await server.ask("/v1/suggestions", { text: "Breaks", commands: ["echo bad > bad.txt", "exit 1"] });
  const page = await visit(browser, server);
  // What is offered while somebody looks appears by itself.
  await page.locator(".suggestion", { hasText: "Breaks" }).waitFor();
  await server.ask("/v1/suggestions", { text: "Unwanted", commands: ["touch unwanted.txt"] });
  await page.locator(".suggestion", { hasText: "Unwanted" }).waitFor();
  await page.locator(".suggestion", { hasText: "Works" }).getByRole("button", { name: "Apply Directly" }).click();
  await page.locator(".result", { hasText: "Applied to main" }).waitFor();
  check(read("fine.txt") === "fine\n", "applied by itself");
  await page.getByRole("link", { name: "Back to sandboxes" }).click();
  await page.locator(".suggestion", { hasText: "Breaks" }).getByRole("button", { name: "Apply Directly" }).click();
  await page.locator(".result.failed").waitFor();
  await page.getByText("nothing was applied").first().waitFor();
  check(!has("bad.txt"), "what failed is not applied");
  await page.getByRole("link", { name: "← Sandboxes" }).click();
  const unwanted = page.locator(".suggestion", { hasText: "Unwanted" });
  await unwanted.getByRole("button", { name: "Reject" }).click();
  await unwanted.waitFor({ state: "detached" });
  await until("it to be rejected", async () => (await server.ask("/v1/suggestions?state=rejected")).suggestions.length > 0);
  check(!has("unwanted.txt"), "what was rejected did not run");
}
