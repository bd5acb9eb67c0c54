// Tells what the answers make while they are written, on a page that is whole without it.
const form = document.getElementById("wizard");
const content = document.getElementById("told-content");
const live = document.getElementById("live");
const touched = new Set();
let waiting, asking;

// What is wrong with an answer stands beside it, as on a page that was sent: of those that were written since.
function mark(page, name) {
  const field = document.getElementById(name);
  const fresh = page.getElementById(name);
  if (!field || fresh === null) return;
  document.getElementById(`${name}-fault`)?.remove();
  const fault = page.getElementById(`${name}-fault`);
  if (fault !== null) field.tagName === "INPUT" ? field.after(fault) : field.append(fault);
  for (const about of ["aria-invalid", "aria-describedby"]) {
    const said = fresh.getAttribute(about);
    if (said === null) field.removeAttribute(about);
    else field.setAttribute(about, said);
  }
}

// The list above the form is of what was sent: a line goes once its field is mended, and the list with its last line.
function shorten(page) {
  const list = document.getElementById("faults");
  for (const link of list?.querySelectorAll("li > a") ?? []) {
    const name = link.hash.slice(1);
    mark(page, name);
    if (page.querySelector(`#faults a[href="#${name}"]`) === null) link.parentElement.remove();
  }
  if (list?.querySelector("li") === null) list.remove();
}

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
    for (const name of touched) mark(page, name);
    shorten(page);
    content.replaceChildren(...told.childNodes);
    live.textContent = content.querySelector("[data-live]")?.textContent ?? "";
    content.removeAttribute("aria-busy");
  } catch (error) {
    if (error.name !== "AbortError") content.removeAttribute("aria-busy");
  }
}

form.addEventListener("input", (event) => {
  touched.add(event.target.name);
  clearTimeout(waiting);
  content.setAttribute("aria-busy", "true");
  waiting = setTimeout(ask, 500);
});
