"""The style of `eval.case`'s page: for paper, screens light and dark, and phones."""

STYLE = """\
:root {
  --back: #ffffff; --ink: #1b1b1b; --soft: #5a5a5a; --line: #d5d5d5; --panel: #f6f6f4;
  --S: #007a55; --D: #b84a00; --Q: #0065a3; --C: #6a6a6a; --good: #00684a; --bad: #a8321a; --on: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #161616; --ink: #ececec; --soft: #a3a3a3; --line: #3a3a3a; --panel: #202020;
    --S: #33c69a; --D: #ff8f4d; --Q: #63b8f0; --C: #a8a8a8; --good: #4fd0a5; --bad: #ff8a70; --on: #101010;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.3rem; line-height: 1.3; margin: 0; }
h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
h1, p, dt { overflow-wrap: anywhere; }
header p { margin: .3rem 0; color: var(--soft); font-size: .9rem; }
.posts { list-style: none; margin: 0; padding: 0; }
.post { border-left: .25rem solid var(--line); padding: .5rem .75rem; margin: 0 0 .6rem; contain: paint; }
.claim { background: var(--panel); border-color: var(--ink); }
.kept { border-color: var(--S); background: var(--panel); }
.post p { margin: .2rem 0; }
.head { color: var(--soft); font-size: .85rem; display: flex; flex-wrap: wrap; gap: 0 .75rem; }
.head a { color: inherit; }
.head bdi { overflow-wrap: anywhere; }
.number { color: var(--ink); min-width: 1.5rem; }
.mark { margin-left: auto; font-weight: 600; }
.kept .mark { color: var(--S); }
.text { white-space: pre-wrap; unicode-bidi: isolate; max-height: 24rem; overflow-y: auto; }
.discarded .text, .unread .text { color: var(--soft); }
.discarded, .unread { border-left-style: dashed; }
.discarded .said, .discarded .why { font-size: .85rem; }
.said { display: flex; flex-wrap: wrap; align-items: center; gap: .2rem .75rem; font-size: .9rem; }
.why { color: var(--soft); font-size: .9rem; font-style: italic; }
.stance { display: inline-block; min-width: 1.4em; text-align: center; font-weight: 700; border-radius: .2rem; }
.stance { color: var(--on); background: var(--C); }
.stance.S, .bar .S { background: var(--S); }
.stance.D, .bar .D { background: var(--D); }
.stance.Q, .bar .Q { background: var(--Q); }
.stance.C, .bar .C { background: var(--C); }
.bar { display: inline-flex; width: 8rem; height: .7rem; border: 1px solid var(--line); vertical-align: middle; }
.bar i { display: block; height: 100%; print-color-adjust: exact; }
.bar .chance { background: var(--Q); }
.right { color: var(--good); }
.wrong { color: var(--bad); }
.hidden { border: 1px solid var(--line); border-radius: .2rem; padding: 0 .2em; font-size: .75em; color: var(--bad); }
.verdict { background: var(--panel); padding: .75rem; }
.verdict p { margin: .3rem 0; }
.verdict dl { margin: .5rem 0; }
.verdict dl div { display: grid; grid-template-columns: 11rem auto; gap: .5rem; }
.verdict dd { margin: 0; }
@media (max-width: 30rem) {
  main { padding: .6rem; }
  .verdict dl div { grid-template-columns: 1fr; gap: 0; }
}
.key { white-space: nowrap; }
@media print {
  .post { break-inside: avoid; }
  .text { max-height: none; }
}
"""
