// Progress as it moves, on a page that is whole without it.
const bar = document.getElementById("progress");
const label = document.querySelector('label[for="progress"]');
const news = document.getElementById("news");
const { events, state, said } = bar.dataset;
const source = new EventSource(events);

source.addEventListener("progress", (event) => {
  const told = JSON.parse(event.data);
  if (told.state !== state && !(state === "locked" && told.state === "collecting")) {
    source.close();
    news.hidden = false;
    return;
  }
  bar.max = told.expected;
  bar.value = told.received;
  label.textContent = said.replace("{received}", told.received).replace("{expected}", told.expected);
});
