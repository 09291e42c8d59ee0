// Elements and text. All that others wrote becomes text nodes, and characters that hide or turn text around are named.

const index = JSON.parse(document.getElementById("index").textContent);
const hides = new RegExp(index.hides, "gu");
const byId = (id) => document.getElementById(id);

/** Text of anybody as nodes. */
function said(text) {
  const shown = String(text).replace(/\r\n/g, "\n").replace(/\n(?:[ \t]*\n){2,}/g, "\n\n");
  const nodes = [];
  let end = 0;
  for (const match of shown.matchAll(hides)) {
    nodes.push(document.createTextNode(shown.slice(end, match.index)));
    const name = document.createElement("span");
    name.className = "hidden";
    name.title = "a character that shows nothing, or turns others around";
    name.textContent = "U+" + match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    nodes.push(name);
    end = match.index + match[0].length;
  }
  nodes.push(document.createTextNode(shown.slice(end)));
  return nodes;
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(...(child instanceof Node ? [child] : said(child)));
  }
  return element;
}

/** An HTML element; strings among its children are text, and functions among its attributes listeners. */
const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);

/** The same of SVG. */
const draw = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const counted = (n, one, several) => `${n.toLocaleString("en")} ${n === 1 ? one : several}`;
const percent = (share) => `${Math.round(100 * share)} %`;

/** Time since the source post: 0:42, 3:05:00, 2d 4:00:00. */
function clock(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const whole = Math.floor(seconds), two = (n) => String(n).padStart(2, "0");
  const days = Math.floor(whole / 86400), hours = Math.floor(whole / 3600) % 24, minutes = Math.floor(whole / 60) % 60;
  const time = whole >= 3600 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
  return days ? `${days}d ${time}` : time;
}

/** Shares as a bar: [[class, share], ...]. */
function bar(shares, words) {
  let x = 0;
  const parts = shares.map(([name, share]) => {
    const width = 100 * Math.min(Math.max(share, 0), 1);
    x += width;
    return draw("rect", { class: name, x: x - width, width, height: 10 });
  });
  const about = words ? { role: "img", "aria-label": words } : { "aria-hidden": "true" };
  return draw("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", ...about },
    words ? draw("title", {}, words) : null, parts);
}
