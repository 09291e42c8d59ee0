// One thread in full: verdicts, the picture over time, posts with what was said of them, and the debate.

const STANCES = { S: "supports", D: "denies", Q: "asks", C: "comments" };
const SPEAKERS = { p: "p (sees support)", n: "n (sees opposition)", agent: "agent (sees both)", judge: "judge" };
const KEPT = { true: "kept", false: "discarded", null: "" };
const FIRST_POSTS = 150;
let byTime = false;
let drawn = 0;

/** Show a thread, with one or two views of it. */
async function showThread(place, chosen) {
  const mine = ++drawn, pane = byId("thread");
  let found;
  try {
    found = await details(place);
  } catch (error) {
    if (mine === drawn) pane.replaceChildren(make("p", { class: "warning", role: "alert" }, error.message));
    return;
  }
  if (mine !== drawn) return; // another one was chosen meanwhile
  const shown = chosen.filter((view) => found.runs[view.run]).map((view, row) => {
    const run = found.runs[view.run];
    return { view, run, row, verdict: run.verdicts.find((each) => each.checkpoint === view.checkpoint) };
  }).filter(({ verdict }) => verdict);
  if (!shown.length) {
    pane.replaceChildren(make("p", { class: "note" }, "This run has not judged this thread."));
    return;
  }
  const edition = shown[0].view.edition, posts = found.posts[edition] ?? null;
  pane.replaceChildren(make("div", {},
    make("h3", {}, "Thread ", make("bdi", {}, title(place))),
    make("p", { class: "steps-nav" }, make("button", { type: "button", click: () => toList() }, "back to the list"),
      make("button", { type: "button", click: () => follow(-1) }, "‹ before"),
      make("button", { type: "button", click: () => follow(1) }, "next ›")),
    index.missing[edition] ? make("p", { class: "warning" }, index.missing[edition]) : null,
    make("div", { class: "beside" }, shown.map((side) => verdictPanel(side, place))),
    timeline(posts, shown),
    shown.some(({ view }) => view.edition !== edition) ? make("p", { class: "warning" },
      `${letterOf(shown[1].view)} judged other texts of this thread: choose it as the first run to read these.`) : null,
    posts ? make("h4", {}, counted(posts.length, "post", "posts")) : null,
    posts ? postList(posts, shown.filter(({ view }) => view.edition === edition)) : marksAlone(shown),
    shown.map((side) => debatePanel(side, posts))));
}

function verdictPanel({ view, verdict }, place) {
  const right = verdict.label !== null && verdict.label === verdict.gold;
  const standing = right ? "right" : verdict.label === null ? "counts as wrong" : "wrong";
  const said = verdict.label ?? `${verdict.outcome}: ${verdict.reason ?? ""}`;
  const others = views.filter((each) => each !== view && judged(each, place));
  const share = ` (${percent(verdict.stop / verdict.n)})`;
  const when = share + (verdict.to_stop === null ? "" : `, ${clock(verdict.to_stop)} after the source post`);
  return make("section", { class: "verdict" },
    make("h4", {}, badge(view), ` ${view.about}`, make("span", { class: "ci" }, ` ${view.name}`)),
    make("p", {}, make("strong", {}, said), verdict.gold === null ? null
      : make("span", { class: right ? "right" : "wrong" }, ` ${standing}: the corpus says ${verdict.gold}`)),
    make("p", {}, !verdict.stop ? "before any post"
      : `after ${verdict.stop} of ${counted(verdict.n, "post", "posts")}${when}`),
    verdict.odds.length ? make("dl", {}, verdict.odds.map(([name, share]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, bar([["chance", share]]), ` ${share.toFixed(2)}`)))) : null,
    verdict.method ? make("p", { class: "why" }, `probabilities: ${verdict.method}`) : null,
    verdict.rationale && !verdict.debate ? make("p", { class: "text", dir: "auto" }, verdict.rationale) : null,
    others.length ? make("details", {},
      make("summary", {}, `as judged by the ${counted(others.length, "other", "others")} here`),
      make("ul", { class: "others" }, others.map((each) => make("li", {}, badge(each), ` ${each.name}: `,
        make("span", { class: isRight(each, place) ? "right" : "wrong" }, given(each, place)),
        ` after ${each.stop[place] || "no"}`)))) : null);
}

function timeline(posts, shown) {
  const n = Math.max(...shown.map(({ verdict }) => verdict.n ?? 0), posts?.length ?? 0);
  const timed = posts?.length > 1 && posts.every((post) => post[1] !== null) && posts.at(-1)[1] > 0;
  const frame = make("div", { class: "frame" });
  const paint = () => {
    const width = Math.max(280, Math.floor(frame.clientWidth || 560));
    frame.replaceChildren(picture(posts, n, shown, byTime && timed, width, (number) => toPost(number)));
  };
  const change = make("button", { type: "button", hidden: !timed, "aria-pressed": String(byTime), click: () => {
    byTime = !byTime;
    change.setAttribute("aria-pressed", String(byTime));
    paint();
  } }, "over time");
  new ResizeObserver(paint).observe(frame);
  return make("figure", {}, frame, make("figcaption", {}, legend(shown), change));
}

/** A button that leads to a post. */
const jump = (number, text) => make("button", { type: "button", class: "link", click: () => toPost(number) }, text);

function toPost(number) {
  byId("thread").querySelector(".more")?.click();
  const post = byId(`post-${number}`);
  post?.scrollIntoView({ block: "center" });
  post?.focus({ preventScroll: true });
}

function postList(posts, shown) {
  const marks = shown.map(({ view, verdict }) => ({ view, verdict,
    stances: new Map(verdict.stances.map((row) => [row[0], row])), debate: debateMarks(verdict.debate) }));
  const depth = [0];
  const item = (post, place) => {
    const number = place + 1;
    depth[number] = number === 1 ? 0 : Math.min((depth[post[2]] ?? 0) + 1, 4);
    return [postItem(post, number, depth[number], marks), ...stopItems(number, shown)];
  };
  const items = posts.map(item);
  const list = make("ol", { class: "posts" }, items.slice(0, FIRST_POSTS));
  if (posts.length <= FIRST_POSTS) return list;
  const more = make("button", { type: "button", class: "more", click: () => {
    list.append(...items.slice(FIRST_POSTS).flat());
    more.remove();
  } }, `show the other ${posts.length - FIRST_POSTS} posts`);
  return make("div", {}, list, more);
}

function postItem([author, seconds, parent, text, annotated], number, depth, marks) {
  const { verdict, stances } = marks[0];
  const kept = stances.get(number)?.[3] ?? null;
  const unread = Boolean(verdict.stop) && number > verdict.stop;
  const kind = unread ? "unread" : kept === true ? "kept" : kept === false ? "discarded" : "";
  const words = { unread: marks.length > 1 ? `not read by ${letterOf(marks[0].view)}` : "not read" };
  const several = marks.length > 1;
  const looks = `post depth-${depth} ${number === 1 ? "claim" : ""} ${kind}`;
  return make("li", { id: `post-${number}`, class: looks, tabindex: "-1" },
    make("p", { class: "head" }, make("b", { class: "number" }, String(number)), make("bdi", {}, author),
      seconds === null ? null : make("span", {}, clock(seconds)),
      parent > 1 ? jump(parent, `to ${parent}`) : null,
      kind ? make("span", { class: "mark" }, words[kind] ?? kind) : null),
    make("p", { class: "text", dir: "auto" }, text),
    marks.map((mark) => [stanceLine(mark.stances.get(number), mark.view, several), debateLine(mark, number, several)]),
    annotated && !marks.some((mark) => mark.stances.has(number))
      ? make("p", { class: "said" }, `annotators: ${STANCES[annotated] ?? annotated}`) : null);
}

function stanceLine(row, view, several) {
  if (!row) return null;
  const [, label, gold, kept, odds, why] = row;
  const right = gold === label ? "right" : "wrong";
  const words = odds ? [..."SDQC"].map((name, place) => `${name} ${odds[place].toFixed(2)}`).join(", ") : "";
  return [make("p", { class: "said" }, several ? badge(view) : null,
    STANCES[label] ? make("span", {}, make("span", { class: `stance ${label}` }, label), ` ${STANCES[label]}`)
      : "no stance",
    odds ? bar([..."SDQC"].map((name, place) => [name, odds[place]]), words) : null,
    several ? KEPT[kept] : null,
    gold ? make("span", { class: right }, `${right}: annotators say ${gold}`) : null),
  why ? make("p", { class: "why", dir: "auto" }, why) : null];
}

function stopItems(number, shown) {
  return shown.filter(({ verdict }) => verdict.stop === number).map(({ view, verdict }) =>
    make("li", { class: `stop ${slot(view)}` }, badge(view), ` stopped here: ${verdict.label ?? verdict.outcome}`));
}

function marksAlone(shown) {
  const rows = shown.flatMap(({ view, verdict }) => verdict.stances.map(([post, label, gold, kept, , why]) =>
    make("tr", {}, [letterOf(view), String(post), label ?? "–", gold ?? "–", KEPT[kept], why ?? ""]
      .map((cell) => make("td", {}, cell)))));
  if (!rows.length) return null;
  const heads = ["", "post", "stance", "gold", "", "why"].map((head) => make("th", { scope: "col" }, head));
  return make("div", { class: "scroll", tabindex: "0" },
    make("table", { class: "words" }, make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows)));
}

/** Post -> what a debate made of it. */
function debateMarks(debate) {
  const found = new Map();
  const mark = (post) => found.get(post) ?? found.set(post, { sides: "" }).get(post);
  for (const [post, score] of debate?.scores ?? []) mark(post).score = score;
  for (const side of "pn") for (const post of debate?.[side] ?? []) mark(post).sides += side;
  return found;
}

function debateLine({ view, debate }, number, several) {
  const found = debate.get(number);
  if (!found) return null;
  const score = found.score === undefined ? "" : found.score === null ? "no score" : `score ${found.score.toFixed(2)}`;
  const seen = found.sides ? `shown to ${[...found.sides].join(" and ")}` : "shown to no debater";
  return make("p", { class: "said" }, several ? badge(view) : null, score, make("span", {}, seen));
}

function debatePanel({ view, verdict }, posts) {
  const { debate } = verdict;
  if (!debate) return null;
  const link = (post) => posts && typeof post === "number" ? jump(post, String(post)) : String(post);
  const links = (numbers) => numbers.length ? numbers.map((each, place) => [place ? ", " : "", link(each)]) : "none";
  const opinion = { true: "yes", false: "no", null: "not known" }[String(debate.subjective)];
  const changed = debate.flips.map(([who, n]) => `${who} ${n} ×`).join(", ");
  const unreal = (n) => n ? ` and ${counted(n, "post that does", "posts that do")} not exist` : "";
  return make("section", { class: "debate" },
    make("h4", {}, badge(view), ` the debate: ${counted(debate.calls, "question", "questions")}`),
    make("p", {}, `taken for an opinion: ${opinion}; p saw `, links(debate.p), "; n saw ", links(debate.n)),
    changed ? make("p", {}, `changed sides: ${changed}`) : null,
    make("ol", { class: "turns" }, debate.turns.map(([speaker, round, label, text, cites, unknown]) =>
      make("li", { class: `turn ${["p", "n", "judge"].includes(speaker) ? `by-${speaker}` : ""}` },
        make("p", { class: "head" }, make("b", {}, SPEAKERS[speaker] ?? speaker), make("span", {}, `round ${round}`),
          make("span", { class: label && label === verdict.gold ? "right" : "wrong" }, label ?? "no label")),
        text ? make("p", { class: "text", dir: "auto" }, text) : null,
        make("p", { class: "why" }, "cites ", links(cites), unreal(unknown))))));
}
