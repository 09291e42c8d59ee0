// The list of threads: which are shown, in which order, and which one is open.

const A_PAGE = 50;
const state = { a: 0, b: -1, words: "", filters: new Set(), order: "wrong", page: 0, open: -1, found: [] };
const chosen = () => [views[state.a], ...(state.b >= 0 && state.b !== state.a ? [views[state.b]] : [])];
let lower = null;

/** Two views of one side are told apart by a stroke and a colour. */
const again = (view) => chosen()[1] === view && chosen()[0].side === view.side;
const letterOf = (view) => view.side + (again(view) ? "′" : "");
const slot = (view) => `s${(letters.indexOf(view.side) + (again(view) ? 3 : 0)) % 8}`;
const badge = (view) => make("b", { class: `side ${slot(view)}` }, letterOf(view));

/** The places of the threads that are asked for. */
function wanted() {
  const [view, other] = chosen();
  const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  lower ??= words.length ? index.ids.map((id, place) => `${id} ${index.claims[place]}`.toLowerCase()) : null;
  const tests = [...state.filters].map((name) => FILTERS[name].holds);
  const found = [];
  for (let place = 0; place < index.ids.length; place++) {
    if (judged(view, place) && words.every((word) => lower[place].includes(word)) &&
        tests.every((holds) => holds(view, place, other))) found.push(place);
  }
  const keys = { sure: (place) => view.sure[place], late: (place) => view.stop[place] / (index.posts[place] || 1),
    long: (place) => index.posts[place] };
  const key = keys[state.order];
  return key ? found.sort((one, other_) => key(other_) - key(one)) : found;
}

/** List again after something was changed. */
function refresh(page = 0) {
  state.found = wanted();
  state.page = Math.min(page, Math.max(0, Math.ceil(state.found.length / A_PAGE) - 1));
  showPage();
  const [view, other] = chosen();
  for (const button of byId("filters").children) {
    const { holds } = FILTERS[button.dataset.filter];
    button.hidden = button.dataset.filter === "differ" && !other;
    button.setAttribute("aria-pressed", String(state.filters.has(button.dataset.filter)));
    let n = 0;
    for (let place = 0; place < index.ids.length; place++) {
      if (judged(view, place) && holds(view, place, other)) n++;
    }
    button.lastChild.textContent = ` ${n.toLocaleString("en")}`;
  }
}

function showPage() {
  const { found, page } = state, pages = Math.max(1, Math.ceil(found.length / A_PAGE));
  byId("list").replaceChildren(...found.slice(page * A_PAGE, (page + 1) * A_PAGE).map(listItem));
  byId("list").start = page * A_PAGE + 1;
  const all = index.ids.length.toLocaleString("en");
  byId("count").textContent = `${counted(found.length, "thread", "threads")} of ${all}`;
  byId("page-where").textContent = `page ${page + 1} of ${pages.toLocaleString("en")}`;
  byId("page-back").disabled = page === 0;
  byId("page-on").disabled = page + 1 >= pages;
  byId("pages").hidden = pages < 2;
}

const standing = (view, place) => !judged(view, place) ? "ci" : isRight(view, place) ? "right" : "wrong";

function listItem(place) {
  const marks = chosen().map((view) => make("span", { class: standing(view, place) },
    chosen().length > 1 ? badge(view) : null,
    ` ${{ right: "✓ ", wrong: "✗ ", ci: "" }[standing(view, place)]}${given(view, place)} `,
    judged(view, place) ? make("span", { class: "ci" }, `${view.stop[place] || "–"}/${index.posts[place]}`) : null));
  return make("li", {}, make("button", { type: "button", class: "thread", "data-place": place,
    "aria-current": place === state.open ? "true" : null, click: () => open(place) },
  make("span", { class: "marks" }, marks, make("span", { class: "ci gold" }, `gold ${gold(chosen()[0], place)}`)),
  make("bdi", { class: "name" }, title(place)), claimOf(place)));
}

const claimOf = (place) =>
  index.claims[place] ? make("span", { class: "claim-text", dir: "auto" }, index.claims[place]) : null;

/** Put claims that came later into the list; who has the focus keeps it. */
function addClaims() {
  for (const button of byId("list").querySelectorAll("button.thread")) {
    button.append(claimOf(Number(button.dataset.place)) ?? "");
  }
}

/** Open a thread; the page's address names it from then on. */
function open(place, move = true) {
  state.open = place;
  for (const button of byId("list").querySelectorAll("button.thread")) {
    if (Number(button.dataset.place) === place) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  const corpus = index.corpus.length ? `${index.corpus[place]}:` : "";
  const name = `#thread:${corpus}${encodeURIComponent(index.ids[place].toWellFormed())}`;
  if (location.hash !== name) location.hash = name;
  return showThread(place, chosen()).then(() => {
    if (!move) return;
    byId("thread").focus({ preventScroll: true });
    if (matchMedia("(max-width: 60rem)").matches) byId("thread").scrollIntoView();
  });
}

/** Open the thread that is so many places further in the list. */
function follow(step) {
  const at = state.found.indexOf(state.open) + step;
  if (at < 0 || at >= state.found.length) return;
  if (Math.floor(at / A_PAGE) !== state.page) {
    state.page = Math.floor(at / A_PAGE);
    showPage();
  }
  open(state.found[at]);
}

function toList() {
  const button = byId("list").querySelector('[aria-current="true"]') ?? byId("list").querySelector("button");
  byId("controls").scrollIntoView();
  button?.focus({ preventScroll: matchMedia("(min-width: 60rem)").matches });
}
