// The index of all threads, and their details, which are read piece by piece: from the page, or from scripts beside it.

const ABSTAINED = -1, FAILED = -2, NOT_JUDGED = -3;
const views = index.views;
const letters = [...new Set(views.map((view) => view.side))];
const KEPT_PIECES = 12;
const read = new Map();
const waiting = new Map();

window.hearsayPiece = (name, number, text) => {
  const promise = waiting.get(number);
  if (!promise) return;
  waiting.delete(number);
  if (name === index.name) promise.resolve(JSON.parse(text));
  else promise.reject(new Error(`${index.folder} belongs to another report: make this one again`));
};

/** What is in a piece: threads, or the claims of all. */
function piece(number) {
  if (!read.has(number)) {
    const inside = byId(`piece-${number}`);
    read.set(number, inside ? Promise.resolve(JSON.parse(inside.textContent)) : fetched(number));
    if (read.size > KEPT_PIECES) read.delete(read.keys().next().value);
  }
  return read.get(number);
}

function fetched(number) {
  return new Promise((resolve, reject) => {
    waiting.set(number, { resolve, reject });
    const script = make("script", { src: `${encodeURIComponent(index.folder)}/${number}.js` });
    script.addEventListener("load", () => script.remove());
    script.addEventListener("error", () => {
      waiting.delete(number);
      read.delete(number);
      reject(new Error(`the folder ${index.folder} must lie beside this page: piece ${number} is missing`));
    });
    document.head.append(script);
  });
}

/** The details of a thread, by its place in the index. */
async function details(place) {
  let low = 0, high = index.starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (index.starts[middle] <= place) low = middle;
    else high = middle;
  }
  return (await piece(low))[place - index.starts[low]];
}

const judged = (view, place) => view.given[place] !== NOT_JUDGED;
const isRight = (view, place) => view.given[place] >= 0 && view.given[place] === view.gold[place];
const isWrong = (view, place) => view.given[place] >= 0 && view.given[place] !== view.gold[place];
const given = (view, place) =>
  ({ [ABSTAINED]: "abstained", [FAILED]: "failed", [NOT_JUDGED]: "not judged" })[view.given[place]] ??
  view.labels[view.given[place]];
const gold = (view, place) => view.labels[view.gold[place]] ?? "–";
const corpusOf = (place) => index.corpora.length > 1 ? ` (${index.corpora[index.corpus[place]]})` : "";
const title = (place) => index.ids[place] + corpusOf(place);

/** What one may ask of a thread in a view; `other` is the view beside it, if there is one. */
const FILTERS = {
  right: { about: "judged as annotators did", holds: isRight },
  wrong: { about: "given another label than annotators gave", holds: isWrong },
  abstained: { about: "no label, and the reason", holds: (view, place) => view.given[place] === ABSTAINED },
  failed: { about: "the model could not be asked", holds: (view, place) => view.given[place] === FAILED },
  flipped: {
    about: "label or abstention changes between stored prefixes (checkpoints, --sea), or a debater changed sides",
    holds: (view, place) => view.turned[place] === 1,
  },
  late: {
    about: "decided after more than half of the posts",
    holds: (view, place) => index.posts[place] > 1 && view.stop[place] / index.posts[place] > 0.5,
  },
  differ: {
    about: "the two runs give different labels",
    holds: (view, place, other) => Boolean(other) && judged(other, place) && given(view, place) !== given(other, place),
  },
};
