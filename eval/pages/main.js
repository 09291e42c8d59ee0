// What the controls do.

function fillViews() {
  for (const [id, first] of [["view-a", null], ["view-b", "nothing"]]) {
    const select = byId(id);
    if (first) select.append(make("option", { value: "-1" }, first));
    for (const letter of letters) {
      const own = views.map((view, place) => [view, place]).filter(([view]) => view.side === letter);
      select.append(make("optgroup", { label: `${letter}: ${own[0][0].about}` },
        own.map(([view, place]) => make("option", { value: place }, `${letter}, ${view.name}`))));
    }
  }
  for (const [name, { about }] of Object.entries(FILTERS)) {
    byId("filters").append(make("button", { type: "button", title: about, "data-filter": name, click: () => {
      if (!state.filters.delete(name)) state.filters.add(name);
      refresh();
    } }, name, make("span", { class: "ci" }, "")));
  }
}

function choose() {
  state.a = Number(byId("view-a").value);
  state.b = Number(byId("view-b").value);
  if (chosen().length < 2) state.filters.delete("differ");
  refresh(state.page);
  if (state.open >= 0) showThread(state.open, chosen());
}

/** Open the thread that the page's address names. */
function fromAddress() {
  const match = /^#thread:(?:(\d+):)?(.*)$/.exec(location.hash);
  if (!match) return;
  let id;
  try {
    id = decodeURIComponent(match[2]);
  } catch {
    return; // no address of ours
  }
  const place = index.ids.findIndex((each, at) => each === id && (!match[1] || index.corpus[at] === Number(match[1])));
  if (place >= 0 && place !== state.open) open(place, false).then(() => byId("threads").scrollIntoView());
}

function themes() {
  const button = byId("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const now = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  const say = () => {
    button.textContent = now() === "dark" ? "light page" : "dark page";
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = now() === "dark" ? "light" : "dark";
    say();
  });
  dark.addEventListener("change", say);
  say();
}

themes();
if (views.length) {
  byId("viewer").hidden = false;
  fillViews();
  // two sides: what they make of the same threads is what one wants to see first
  const other = views.findIndex((view) => view.side !== views[0].side);
  state.b = other;
  byId("view-b").value = String(other);
  byId("view-a").addEventListener("change", choose);
  byId("view-b").addEventListener("change", choose);
  byId("order").addEventListener("change", () => { state.order = byId("order").value; refresh(); });
  byId("query").addEventListener("input", () => { state.words = byId("query").value; refresh(); });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("page-back").addEventListener("click", () => { state.page--; showPage(); toList(); });
  byId("page-on").addEventListener("click", () => { state.page++; showPage(); toList(); });
  byId("list").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const buttons = [...byId("list").querySelectorAll("button.thread")];
    const next = buttons[buttons.indexOf(document.activeElement) + step];
    if (!step || !next) return;
    event.preventDefault();
    next.focus();
  });
  addEventListener("hashchange", fromAddress);
  refresh();
  fromAddress();
  if (!index.claims.length) {
    // of very many threads they come after the list
    piece("claims").then((claims) => {
      index.claims = claims;
      lower = null;
      if (state.words) refresh();
      else addClaims();
    }, (error) => { byId("count").textContent = error.message; });
  }
}
document.documentElement.dataset.ready = "true";
