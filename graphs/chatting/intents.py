"""What somebody wants of the chat, read by rules; English and Chinese.

A message is made plain first (lower case, no fillers, numbers as digits). A rule must then match all of it, so that a
post which only begins like a question to the chat stays a post. What no rule matches is a post, or a question for a
model (`graphs/chatting/model.py`).
"""

import re
from typing import Literal

from typing_extensions import TypedDict

Do = Literal[
    "judge",
    "why",
    "change",
    "stop",
    "sure",
    "show",
    "list",
    "more",
    "claim",
    "one",
    "apart",
    "undo",
    "new",
    "help",
    "thanks",
    "person",
]
"""What can be asked for. "more" takes the last paste as further posts, "claim" as a conversation of its own, "one" as a
single post, "apart" as one post a line; "person" answers the question that an unsure verdict asked."""
LONGEST = 160
"""Characters of a message that a rule looks at."""


class Asked(TypedDict, total=False):
    """One request."""

    do: Do
    how: str
    """Verifier to judge by, this once."""
    first: int
    """Judge only so many posts."""
    without: list[int]
    """Judge without these posts."""
    posts: list[int]
    """First and last number of the posts to show; -1 is the last post."""
    said: str
    """What a person said who was asked."""


_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_HAN = "零一二三四五六七八九十"
_FILLERS = re.compile(
    r"\b(?:please|ok|okay|and|but|so|well|then|hey|hmm+|yes|thanks|only|just|alone|now|again|instead|me|the|an?|"
    r"(?:can|could|would|will) you|let'?s|let us|i(?:'d| would) like(?: you)? to|i want(?: you)? to)\b|"
    r"^(?:好的?|那么?|可是|但是?|如果)|请|一下|一次|(?:[呢吗呀啊吧]|(?<!什)么)$"
)
_POSTS = r"(?:posts?|messages?|tweets?|comments?|repl(?:y|ies))"
_KIND = r"(?:rumou?r|true|fake|real|false|hoax|fact|legit)"
_IT = r"(?:it|this|that|them|these|those|claim|thread|conversation)"
_SPAN = rf"(?:{_POSTS}|number|no|#)? ?(?:number |no )?#?(\d+)(?: ?(?:-|–|to|through|until) ?#?(\d+))?"
_TIAO = r"[条个]?(?:帖子?|评论|回复)?"

_PHRASES: dict[Do, tuple[str, ...]] = {
    "why": (
        rf"why(?: (?:not|that|(?:is|was) {_IT}|(?:is it )?{_KIND}|this verdict))?",
        r"why (?:do|did) you (?:say|think)(?: that)?",
        rf"how come|because|explain(?: (?:{_IT}|yourself|why|your \w+))?|what makes you (?:say|think)(?: {_IT})?",
        r"(?:what(?:'s| is) )?(?:your )?(?:reasons?|reasoning|evidence)",
        rf"(?:what|which {_POSTS}) (?:carried|decided|convinced)(?: (?:it|that|you|verdict))?",
        r"为什么(?:这么说|这样说|是谣言|不是谣言)?|为何|理由(?:是什么)?|依据(?:是什么)?|解释|哪些帖子起了?(?:决定)?作用",
    ),
    "change": (
        r"what (?:would|could|might|can|will)(?: make you)? (?:change|flip|alter)(?: (?:your|its|it|that|you))?"
        r"(?: (?:mind|verdict|answer|opinion|label))?",
        r"what would it take|how could (?:it|that|verdict) change",
        r"(?:什么|怎样才?)(?:会|能|可以)(?:让你)?改变(?:你的|这个)?(?:想法|看法|判断|结论|主意)?",
    ),
    "stop": (
        r"(?:when|where) (?:would|did|do|does|should) (?:you|it)(?: have)? (?:stop(?:ped)?|decided?)(?: reading)?",
        r"when (?:was|is) it enough|(?:你)?会?在?哪里停(?:下|止)?|什么时候会?(?:停|够)[下止了]?",
    ),
    "sure": (
        rf"how (?:sure|confident|certain)(?: (?:are you|is (?:it|that)))?(?: (?:of|about) {_IT})?|really",
        rf"are you (?:sure|certain|confident)(?: (?:of|about) {_IT})?",
        r"你?有?多?(?:确定|肯定)|把握有?多大|真的",
    ),
    "list": (
        r"(?:show|list|print|display|see|read)(?: all)?(?: of)?(?: my)? "
        r"(?:posts|thread|conversation|replies|everything|all)",
        r"what (?:posts )?(?:do you have|have you read)|(?:显示|看看|列出)(?:所有|全部)?的?(?:帖子|对话|评论)",
    ),
    "claim": (
        rf"(?:that|this|it)(?:'s| is| was) (?:new|another|different)(?: (?:one|{_IT}|topic))?",
        r"[那这]是(?:新的?|另一个)(?:话题|说法|帖子|对话|谣言)?",
    ),
    "new": (
        rf"(?:start |begin )?(?:new|another)(?: (?:one|{_IT}|topic|chat))?",
        rf"reset|start (?:over|afresh)|clear|forget (?:{_IT}|everything|all)(?: of it)?",
        r"(?:换一?个|新的?|另一个)(?:话题|说法|帖子|对话|谣言)?|重新开始|清空|重来",
    ),
    "more": (
        rf"(?:add|append|take|count|treat) {_IT}(?: to {_IT})?(?: as (?:more |further |another )?{_POSTS})?",
        rf"(?:they|{_IT})(?:'re|'s| is| are| were| was) (?:more|part of (?:{_IT}|same)|(?:further )?{_POSTS})",
        rf"same {_IT}|(?:这是|那是)?(?:同一个|继续|追加|回复|跟帖)(?:对话|帖子)?|加上(?:去|它们?)?",
    ),
    "one": (rf"{_IT}(?:'s| is| was)(?: all)? (?:one|single) {_POSTS}|(?:all )?one post|[那这]?都?是?[一同1]+条帖子?",),
    "apart": (
        r"one post (?:each|per)? ?line|each line is (?:one )?post|[一1]行[一1]条(?:帖子)?|每行是?[一1]条(?:帖子)?",
    ),
    "undo": (
        rf"undo(?: {_IT})?|(?:take|put) {_IT} back|(?:remove|delete|drop|forget) last(?: {_POSTS}| one)?",
        rf"{_IT}(?: was|'s| is|) ?n(?:o|ot|'t)? {_POSTS}|撤[销回]|删[除掉去]?(?:最后|上)[一1]条",
    ),
    "help": (
        r"help|hi+|hello|good (?:morning|afternoon|evening)|who are you|commands?",
        r"what (?:can|do) (?:you|i) do(?: here)?",
        r"how (?:does (?:this|it) work|do (?:you|i) (?:work|use (?:this|it|you)))",
        r"what (?:is|are) (?:this|you)|/help|/start",
        r"[你您]好|帮助|你是谁|怎么用|你(?:会|能)[做干]?什么|嗨",
    ),
    "thanks": (
        r"|(?:many )?thank(?: you)?(?: (?:a lot|lot|so much|much|very much))?|ty|cheers",
        r"great|cool|nice|good|got it|i see|fine|stop|quit|exit|bye|goodbye|谢谢你?|多谢|明白了?|知道了|再见",
    ),
    "judge": (
        rf"(?:is|was) {_IT} {_KIND}(?: or (?:not|{_KIND}))?|{_KIND} or (?:not|{_KIND})",
        rf"what do you think(?: (?:of|about) {_IT})?|what about(?: it)?|what",
        r"(?:what(?:'s| is) )?(?:your )?(?:verdict|judge?ment|answer|conclusion|result)",
        rf"(?:judge|check|verify|decide|fact-?check)(?: {_IT})?",
        rf"(?:what about |with |on )?(?:all|whole)(?: of)?(?: {_POSTS}| {_IT})?|全部(?:帖子)?",
        r"[这它那]?(?:是不是谣言|是谣言|是真的还是假的|是真的|是假的|真的假的|可信)",
        r"再?判[断定]|结论(?:是什么)?|你(?:怎么看|觉得)",
    ),
}
_RULES = {do: re.compile("|".join(f"(?:{phrase})" for phrase in phrases)) for do, phrases in _PHRASES.items()}
_SHOW = re.compile(
    r"(?:(?:show|print|display|open|see|read|quote|repeat|give) |what(?:'s| is| does| was| did)(?: in)? )?"
    rf"{_SPAN}(?: say| said)?|"
    rf"(?:显示|看看?|打开|读)?第 ?(\d+) ?(?:到第? ?(\d+) ?)?{_TIAO}(?:是什么|说了?什么|说的(?:是)?什么)?"
)
_ENDS = re.compile(
    rf"(?:show|print|display|open|read) (?:(claim|source(?: post)?|first post|first one)|last (?:{_POSTS}|one))|"
    r"(?:显示|看看?)(?:(源帖|原帖)|最后[一1]条)"
)
_FIRST = re.compile(
    rf"(?:(?:what )?(?:if|about|how about) |judge (?:{_IT} )?)?(?:you )?(?:had |saw |seen |knew |read )?(?:you )?"
    rf"(?:with |after |on |by |using |from |of |reading |take )?first (?:(\d+) ?)?({_POSTS})?"
)
_FIRST_ZH = re.compile(r"(?:只|仅|光)?(?:看|用|读|凭)?前 ?(\d+) ?[条个](帖子?|回复|评论)?")
_CLAIM = re.compile(r"claim|(?:what about |with |judge |on )(?:source|claim)(?: post)?|[只仅]看?(?:源帖|原帖|说法)")
_WITHOUT = re.compile(
    rf"(?:what )?(?:if |about |judge (?:{_IT} )?)?(?:you )?"
    rf"(?:without|leav(?:e|ing) out|ignor(?:e|ing)|drop(?:ping)?|except|exclud(?:e|ing)|omit) "
    rf"{_POSTS}? ?#?\d+(?:(?:,| )+ ?(?:{_POSTS} )?#?\d+)*|(?:去掉|不看|忽略|没有|除去|不算)第 ?\d+ ?{_TIAO}"
)
_HOW = {
    "s2mad": r"debate|debaters|s2mad|辩论",
    "encoder": r"(?:embedded )?(?:encoder|classifier)|编码器|分类器",
    "direct": r"direct|(?:chat |language )?(?:model|llm)|[大语言]*模型",
    **{name: name for name in ("vanilla", "self-consistency", "self-correction", "single-task", "multi-task")},
    **{name: name for name in ("jsdrv", "ced", "erd", "heard")},
}
_VERB = r"(?:judge|decide|try|check|do|redo|run|settle|verify|ask|use|have|hold|start|test)"
_BY_HOW = {
    how: re.compile(
        rf"(?:what (?:about|does|would) |{_VERB} )?(?:{_IT} )?(?:(?:by|with|using|through|via|in) )?(?:{words})"
        rf"(?: (?:{_IT}|about|say|think|judge|decide))*|"
        rf"(?:[用以让换]|通过)?(?:{words})[来再]?(?:判[断定]|评判|决定|看看|试试)?"
        + (r"|(?:let )?(?:them )?(?:debate|argue)(?: (?:it|this|that|about))*(?: out)?" if how == "s2mad" else "")
    )
    for how, words in _HOW.items()
}


def read_intent(text: str) -> Asked | None:
    """What a message asks for, by the first rule that matches the whole of it; None if none does."""
    if not text.strip() or len(text) > LONGEST or "\n" in text.strip():
        return None
    line = _made_plain(text)
    for do, rule in _RULES.items():
        if rule.fullmatch(line):
            return {"do": do}
    for rule in (_FIRST, _FIRST_ZH):
        if found := rule.fullmatch(line):
            # of three replies it reads four posts: the claim is no reply
            replies = (found[2] or "").startswith(("repl", "回复", "评论"))
            return {"do": "judge", "first": max(1, int(found[1] or 1) + replies)}
    if _CLAIM.fullmatch(line):
        return {"do": "judge", "first": 1}
    if _WITHOUT.fullmatch(line):
        return {"do": "judge", "without": [int(number) for number in re.findall(r"\d+", line)]}
    if found := _SHOW.fullmatch(line):
        numbers = [int(number) for number in found.groups() if number]
        return {"do": "show", "posts": [numbers[0], numbers[-1]]}
    if found := _ENDS.fullmatch(line):
        number = 1 if found[1] or found[2] else -1
        return {"do": "show", "posts": [number, number]}
    for how, rule in _BY_HOW.items():
        if rule.fullmatch(line):
            return {"do": "judge", "how": how}
    return None


def _made_plain(text: str) -> str:
    """Lower case, without punctuation at the end and fillers anywhere; number words as digits."""
    line = " ".join(text.lower().replace("’", "'").split()).rstrip("?!.… 。？！~")
    line = re.sub(r"\bfirst post only\b", "first post", line)
    line = re.sub(
        rf"(?<![一-鿿])[{_HAN}两]{{1,3}}(?=行|条)|(?<=[第前到]){'[' + _HAN}两]{{1,3}}|(?<=[每是])一(?=条)",
        _digits,
        line,
    )
    words = "|".join(_NUMBERS)
    line = re.sub(
        rf"(?<!new )(?<!last )(?<!other )\b(?:{words})\b(?! post\b| single\b)",
        lambda word: str(_NUMBERS.index(word[0])),
        line,
    )
    for _ in range(2):  # a filler may stand behind another
        line = " ".join(_FILLERS.sub(" ", line).replace(",", " ").replace("，", " ").split())
    return re.sub(r"(?<=[一-鿿]) (?=[一-鿿])", "", line)


def _digits(found: re.Match[str]) -> str:
    """A Chinese number below a hundred as digits."""
    tens, ten, ones = found[0].replace("两", "二").rpartition("十")
    high = 10 * (_HAN.index(tens) if tens in _HAN and tens else 1) if ten else 0
    return str(high + (_HAN.index(ones) if ones and ones in _HAN else 0))
