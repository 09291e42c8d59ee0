// One thread over time: its posts, what was believed after each, and where the reading stopped.

const MARGIN = { left: 34, right: 12, top: 24, bottom: 52 };
const HEIGHT = 230;
const AXIS = [[0, "0"], [60, "1 min"], [300, "5 min"], [900, "15 min"], [3600, "1 h"], [21600, "6 h"], [86400, "1 day"],
  [259200, "3 days"], [604800, "1 week"], [2592000, "30 days"]];
const MOST_DOTS = 400;

/**
 * The picture as SVG.
 *
 * @param posts - author, seconds, parent, text and gold stance of each; null where they are not known
 * @param n - how many there are
 * @param shown - {view, run, verdict} of each side: what is drawn
 * @param byTime - whether x is time, and not the number of the post
 * @param width - in pixels
 * @param choose - called with the number of a post that is clicked
 */
function picture(posts, n, shown, byTime, width, choose) {
  const inner = width - MARGIN.left - MARGIN.right, bottom = HEIGHT - MARGIN.bottom;
  const secondsOf = (number) => posts?.[number - 1]?.[1] ?? 0;
  const last = Math.max(1, secondsOf(n));
  const along = (seconds) => MARGIN.left + inner * Math.log1p(seconds / 60) / Math.log1p(last / 60);
  const evenly = (number) => MARGIN.left + inner * (n > 1 ? (number - 1) / (n - 1) : 0.5);
  const x = (number) => byTime ? along(secondsOf(number)) : evenly(number);
  const y = (share) => bottom - (bottom - MARGIN.top) * share;
  const parts = [];
  for (const share of [0, 0.5, 1]) {
    parts.push(draw("path", { class: "grid", d: `M${MARGIN.left} ${y(share)}h${inner}` }),
      draw("text", { class: "tick", x: MARGIN.left - 5, y: y(share) + 4, "text-anchor": "end" }, String(share)));
  }
  parts.push(...axis(byTime, n, last, along, x));
  for (const side of shown) parts.push(sidePart(side, x, y));
  parts.push(...dots(posts, n, shown, x, choose));
  parts.push(...stops(shown, n, x));
  const stopped = ({ view, verdict }) => `${letterOf(view)} stops after ${verdict.stop ?? "no"} of ${n} posts`;
  return draw("svg", { class: "chart picture", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img",
    "aria-label": shown.map(stopped).join("; ") }, parts);
}

function axis(byTime, n, last, along, x) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find((each) => n / each <= 10) ?? 10000;
  const numbers = [...Array(n).keys()].map((each) => each + 1).filter((each) => each === 1 || each % step === 0);
  const ticks = byTime ? AXIS.filter(([at]) => at <= last).map(([at, text]) => [along(at), text])
    : numbers.map((number) => [x(number), String(number)]);
  let free = -Infinity;
  const parts = [];
  for (const [place, text] of ticks) {
    if (place - 3.5 * text.length < free) continue;
    free = place + 3.5 * text.length;
    parts.push(draw("text", { class: "tick", x: place, y: HEIGHT - 20, "text-anchor": "middle" }, text));
  }
  const name = byTime ? "time since the source post" : "posts read";
  const middle = x(1) + (x(n) - x(1)) / 2;
  parts.push(draw("text", { class: "axis", x: middle, y: HEIGHT - 4, "text-anchor": "middle" }, name));
  return parts;
}

/** Which label's probability is drawn: the first of two, or the gold one of several. */
const believed = ({ view, verdict }) => (view.labels.length === 2 || !verdict.gold ? view.labels[0] : verdict.gold);

/** What is known after each post: [post, probability of the believed label], at all checkpoints of the run. */
function beliefs(side) {
  const found = new Map();
  for (const verdict of side.run.verdicts) {
    const chance = verdict.odds.find(([name]) => name === believed(side))?.[1];
    if (verdict.stop && chance !== undefined) found.set(verdict.stop, chance);
  }
  return [...found].sort((one, other) => one[0] - other[0]);
}

/** [post, stop probability]; none of a fixed policy, which only knows no and yes. */
function stopChances(run) {
  const known = run.steps.filter(([, , chance]) => chance !== null).map(([at, , chance]) => [at, chance]);
  return known.some(([, chance]) => chance > 0 && chance < 1) ? known : [];
}

function sidePart(side, x, y) {
  const { run, verdict } = side;
  const curve = (points, kind, word) => [
    draw("polyline", { class: kind, points: points.map(([at, share]) => `${x(at)},${y(share)}`).join(" ") }),
    points.length > MOST_DOTS ? null : points.map(([at, share]) =>
      draw("circle", { class: `${kind}-dot`, cx: x(at), cy: y(share), r: kind === "belief" ? 3.5 : 2 },
        draw("title", {}, `${letterOf(side.view)}, post ${at}: ${word} ${share.toFixed(2)}`)))];
  const stopping = stopChances(run);
  const labels = new Map();
  for (const [at, action, , label] of run.steps) if (label || action === "after") labels.set(at, label);
  if (verdict.stop) labels.set(verdict.stop, verdict.label);
  const row = 4 + 9 * side.row;
  return draw("g", { class: slot(side.view) },
    curve(stopping, "stopping", "stop"), curve(beliefs(side), "belief", believed(side)),
    labels.size > MOST_DOTS ? null : [...labels].map(([at, name]) => {
      const kind = !name ? "none" : name === verdict.gold ? "good" : "bad";
      return draw("rect", { class: `label ${kind}`, x: x(at) - 3, y: row, width: 6, height: 7 },
        draw("title", {}, `${letterOf(side.view)}, after post ${at}: ${name ?? "no label"}`));
    }));
}

function dots(posts, n, shown, x, choose) {
  if (n > MOST_DOTS) return [];
  const { verdict } = shown[0];
  const stances = new Map(verdict.stances.map((row) => [row[0], row]));
  return [...Array(n).keys()].map((place) => {
    const number = place + 1, stance = stances.get(number);
    const unread = verdict.stop && number > verdict.stop;
    const told = [`post ${number}`, clock(posts?.[place]?.[1]), stance?.[1]].filter(Boolean).join(", ");
    return draw("circle", { class: `post-dot ${stance?.[1] ?? ""} ${unread || stance?.[3] === false ? "hollow" : ""}`,
      cx: x(number), cy: HEIGHT - MARGIN.bottom + 14, r: n > 120 ? 2.5 : 4.5, click: () => choose(number) },
      draw("title", {}, told));
  });
}

function stops(shown, n, x) {
  return shown.filter(({ verdict }) => verdict.stop).map(({ view, verdict, row }) => {
    const place = x(verdict.stop), end = place > x(n) - 30 && n > 1;
    return draw("g", { class: slot(view) },
      draw("path", { class: "stop-line", d: `M${place} ${MARGIN.top}V${HEIGHT - MARGIN.bottom + 8}` }),
      draw("text", { class: "point", x: place + (end ? -5 : 5), y: MARGIN.top + 12 + 13 * row,
        "text-anchor": end ? "end" : "start" }, `${letterOf(view)} stops`));
  });
}

/** What the marks of a picture mean. */
function legend(shown) {
  const items = shown.flatMap((side) => {
    const key = (kind, text) => make("li", {}, draw("svg", { class: `key-line ${slot(side.view)}`, viewBox: "0 0 22 8",
      "aria-hidden": "true" }, draw("path", { class: kind, d: "M0 4H22" })), ` ${letterOf(side.view)}: ${text}`);
    return [stopChances(side.run).length ? key("stopping", "stop probability") : null,
      beliefs(side).length ? key("belief", `probability of ${believed(side)}`) : null];
  });
  return make("ul", { class: "legend" }, items,
    make("li", {}, make("span", { class: "square good" }), "/", make("span", { class: "square bad" }),
      " right / wrong label"),
    make("li", {}, make("span", { class: "ring" }), " a post not read or discarded"));
}
