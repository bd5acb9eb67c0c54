// Tells what the answers make while they are written, on a page that is whole without it.
const form = document.getElementById("wizard");
const content = document.getElementById("told-content");
const live = document.getElementById("live");
let waiting, asking;

async function ask() {
  asking?.abort();
  asking = new AbortController();
  const answers = new URLSearchParams(new FormData(form));
  answers.set("act", "check");
  try {
    const got = await fetch(form.action, { method: "POST", body: answers, signal: asking.signal, redirect: "error" });
    const page = new DOMParser().parseFromString(await got.text(), "text/html");
    const told = page.getElementById("told-content");
    if (told === null) return;
    content.replaceChildren(...told.childNodes);
    live.textContent = content.querySelector("[data-live]")?.textContent ?? "";
    content.removeAttribute("aria-busy");
  } catch (error) {
    if (error.name !== "AbortError") content.removeAttribute("aria-busy");
  }
}

form.addEventListener("input", () => {
  clearTimeout(waiting);
  content.setAttribute("aria-busy", "true");
  waiting = setTimeout(ask, 500);
});
