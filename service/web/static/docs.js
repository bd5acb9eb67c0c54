// The viewer with what it lacks: a dark mode that follows the system, and names and keys for those who need them.
const dark = matchMedia("(prefers-color-scheme: dark)");
const shade = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", shade);
shade();

const reachable = () => ({
  wrapComponents: {
    // A link inside the button that opens an operation is a control within a control.
    DeepLink: (_Original, { React }) => ({ text }) => React.createElement("span", null, text),
    // Levels of headings follow one another: the title is the first, a group of operations the third.
    operations: (Original, { React }) => (props) =>
      React.createElement(
        React.Fragment, null, React.createElement("h2", null, "Operations"), React.createElement(Original, props),
      ),
  },
});

const page = document.getElementById("swagger-ui");
const regions = { ".information-container": "About this API", ".scheme-container": "Server and key" };
const complete = () => {
  for (const [where, name] of Object.entries(regions)) {
    const part = page.querySelector(where);
    part?.setAttribute("role", "region");
    part?.setAttribute("aria-label", name);
  }
  for (const select of page.querySelectorAll("select:not([aria-label])")) {
    const cell = select.closest("tr, .servers, .content-type-wrapper, .response-control-media-type");
    const name = cell?.querySelector(".parameter__name, .response-control-media-type__title")?.textContent;
    select.setAttribute("aria-label", name || (select.id === "servers" ? "Server" : "Media type"));
  }
  for (const field of page.querySelectorAll("textarea:not([aria-label])")) field.setAttribute("aria-label", "Body");
  for (const table of page.querySelectorAll(".responses-table:not([aria-label])")) {
    table.setAttribute("aria-label", `Responses of ${table.id.replaceAll("_", " ").trim() || "the call"}`);
  }
  for (const block of page.querySelectorAll("pre:not([tabindex])")) block.tabIndex = 0;
};
new MutationObserver(complete).observe(page, { childList: true, subtree: true });

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  plugins: [reachable],
});
