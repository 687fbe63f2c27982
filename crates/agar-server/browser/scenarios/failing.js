// An experiment that fails leaves main alone and leaves a lesson.

import { check, has, read, visit } from "../harness.js";

export default async function ({ server, browser }) {
  const page = await visit(browser, server);
  await page.getByLabel("What do you want to try?").fill("Migrate the orders");
  await page.getByLabel("Commands").fill("echo half > half.txt\necho 'ERROR: relation \"orders\" does not exist' >&2; exit 3\ntouch never.txt");
  await page.getByRole("button", { name: "Try This Safely" }).click();
  const result = page.locator(".result.failed");
  await result.waitFor();
  await page.locator(".log", { hasText: "does not exist" }).waitFor();
  await page.locator(".log .bad", { hasText: "exit 3" }).waitFor();
  check((await result.textContent()).includes("main is untouched"), "it says that main is untouched");
  await result.getByRole("button", { name: "View Details" }).click();
  await page.locator(".details", { hasText: "half.txt" }).waitFor();
  await result.getByRole("button", { name: "Discard" }).click();
  const done = page.locator(".result", { hasText: "Discarded" });
  await done.waitFor();
  await done.getByText("Lesson:").first().waitFor();
  check(!has("half.txt") && !has("never.txt"), "nothing was written");
  check(read("notes.txt").includes("second"), "main is as it was");
  const told = await server.ask("/api/memory/lessons");
  check(told.lessons.length > 0, "the lesson is kept");
  await page.getByRole("link", { name: "Memory" }).click();
  await page.getByText("Migrate the orders").or(page.getByText(/does not exist/)).or(page.getByText(told.lessons[0].sentence)).first().waitFor();
}
