// The flow of the first seed: a suggestion, the button, the checklist, the split view, success,
// apply, the files on disk, what memory learned.

import { check, has, read, same, until, visit } from "../harness.js";

export default async function ({ server, browser }) {
  const words = { text: "Add a greeting to the project", agent: "claude" };
  const commands = ["echo hello > greeting.txt", "sed -i s/second/SECOND/ notes.txt && git diff --check && echo all 3 tests pass"];
  await server.ask("/v1/suggestions", { ...words, commands });
  const page = await visit(browser, server);
  const card = page.locator(".suggestion", { hasText: words.text });
  for (const name of ["Try This Safely", "Apply Directly", "Reject"]) {
    await card.getByRole("button", { name }).waitFor();
  }
  await card.getByRole("button", { name: "Try This Safely" }).click();

  // The checklist, with times.
  await page.waitForURL(/#\/sandbox\//);
  const checklist = page.locator("details.checklist");
  await checklist.waitFor();
  for (const word of ["Project frozen as a generation", "Isolated session created", "Memory consulted", "Dependencies"]) {
    await checklist.locator(".step.done", { hasText: word }).waitFor({ state: "attached" });
  }
  check(/\d ms|\d s/.test(await checklist.locator(".step", { hasText: "session" }).textContent()), "the session has a time");

  // The split view.
  const panel = page.getByRole("tabpanel");
  await panel.getByRole("heading", { name: "Main (Safe)" }).waitFor();
  await panel.getByRole("heading", { name: /Sandbox #[0-9a-f]{4} \(Experimental\)/ }).waitFor();
  await panel.getByText("Protected").waitFor();
  await panel.locator(".log", { hasText: "all 3 tests pass" }).waitFor();

  // Success, and nothing on disk before it is applied.
  await page.locator(".result.success", { hasText: "Success" }).waitFor();
  check(!has("greeting.txt"), "main is untouched");
  const overlay = page.getByRole("region", { name: "Changes detected" });
  await overlay.getByText("greeting.txt").waitFor();
  const toggle = overlay.getByRole("button", { name: /Changes detected/ });
  await toggle.click();
  same(await toggle.getAttribute("aria-expanded"), "false", "the overlay is put away");
  await toggle.click();
  await overlay.getByRole("button", { name: "notes.txt" }).click();
  await page.locator(".details .add", { hasText: "SECOND" }).waitFor();
  check(!(await page.locator(".details").innerText()).includes("null"), "what is left out is not there");

  // Files of both, beside each other.
  await page.getByRole("tab", { name: "Files" }).click();
  const [main, sandbox] = [page.locator(".pane.safe .files:visible"), page.locator(".pane.experimental .files:visible")];
  await sandbox.locator("li", { hasText: "greeting.txt" }).getByText("new").waitFor();
  same(await main.getByText("greeting.txt").count(), 0, "greeting.txt in main");
  await sandbox.getByRole("button", { name: "notes.txt" }).click();
  await sandbox.locator("pre", { hasText: "SECOND" }).waitFor();
  await main.locator("pre", { hasText: "second" }).waitFor();

  await page.getByRole("button", { name: "Apply to Main" }).click();
  const done = page.locator(".result", { hasText: "Applied to main" });
  await done.waitFor();
  same(read("greeting.txt"), "hello\n", "the file on disk");
  check(read("notes.txt").includes("SECOND"), "the change on disk");
  await main.locator("pre", { hasText: "SECOND" }).waitFor();
  await done.locator(".learned li").first().waitFor();
  await until("the suggestion to be applied", async () => {
    const told = await server.ask("/v1/suggestions?state=applied");
    return told.suggestions.some((it) => it.text === words.text);
  });

  // What was learned is there for the next one: the button knows how likely it is.
  await page.getByRole("link", { name: "Back to sandboxes" }).click();
  await page.getByLabel("What do you want to try?").fill(words.text);
  await page.getByLabel("Commands").focus();
  const button = page.locator(".composer try-this-safely");
  await button.getByText(/\d+ % confident/).waitFor();
  check(await button.locator(".mark").isVisible(), "the badge is there");

  // And it can be taken back.
  await page.goBack();
  await page.getByRole("button", { name: "Undo" }).click();
  await until("the file to be gone", () => !has("greeting.txt"));
}
