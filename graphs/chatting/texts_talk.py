"""What the chat says between verdicts, in English and Chinese: of follow-ups, of how it read a message and the rest."""

TALK: dict[str, tuple[str, str]] = {
    # follow-ups
    "try": (
        "Ask: *why?* · *show post {n}* · *what would change your mind?* · *with only the first {first} posts?* · "
        "*judge it by debate* · or go on with the next post.",
        "可以问：*为什么？* · *显示第{n}条* · *什么会改变判断？* · *只看前{first}条呢？* · *用辩论判断* · "
        "或继续发帖子。",
    ),
    "try_few": (
        "Ask: *why?* · *show post {n}* · *what would change your mind?* · *only the claim?* · or go on with the next "
        "post.",
        "可以问：*为什么？* · *显示第{n}条* · *什么会改变判断？* · *只看源帖* · 或继续发帖子。",
    ),
    "try_short": ("Go on with replies to it, or ask *why?*", "可以继续发回复，或问*为什么？*"),
    "why": ("It says **{label}**{at}:", "判断为 **{label}**{at}，因为："),
    "why_beliefs": ("{label} after each post: {path}", "逐条之后{label}的概率：{path}"),
    "why_learned": (
        "It learned from {shots} labelled threads of `{corpus}` what rumors sound like; it looks nothing up, and its "
        "percentage is how sure that classifier is, not how often it is right.",
        "它从 `{corpus}` 的 {shots} 个已标注对话中学到谣言的样子；它不查证事实，百分比只是分类器的把握，不是正确率。",
    ),
    "shown": ("**{number}** of {n}{about}: {text}", "**{number}**/{n}{about}：{text}"),
    "seconds": ("+{n} s", "+{n} 秒"),
    "minutes": ("+{n} min", "+{n} 分钟"),
    "hours": ("+{n} h", "+{n} 小时"),
    "days": ("+{n} days", "+{n} 天"),
    "answers": ("answers {number}", "回复第 {number} 条"),
    "moves_it": ("moves {label} by {points}", "使{label}变化 {points}"),
    "is_claim": ("the claim", "源帖"),
    "no_such_post": ("There is no post {number}: there are {n}.", "没有第 {number} 条：共 {n} 条。"),
    "more_posts": ("… and {n} more: *show post {next}*", "……还有 {n} 条：*显示第{next}条*"),
    "without_claim": (
        "Post 1 is the claim: without it there is nothing to judge. Say *new:* and paste another claim.",
        "第 1 条是源帖，去掉就没有可判断的内容了。说*新：*再贴另一个说法。",
    ),
    "all_there_is": ("There are only {0} posts, so that is all of them.", "只有 {0} 条，所以这就是全部。"),
    # how a message was read
    "began": ("Read as {n} posts ({kind}).", "读作 {n} 条帖子（{kind}）。"),
    "began_one": ("Read as a claim.", "读作一个说法。"),
    "another": (
        "Read as another conversation of {n} posts ({kind}); say *add them* if they go on with the last one.",
        "读作另一段对话，{n} 条帖子（{kind}）；若是接着上一段，说*追加*。",
    ),
    "another_one": ("Read as another claim.", "读作另一个说法。"),
    "added": (
        "Added as post {last}; say *that is a new claim* or *undo* if not.",
        "已作为第 {last} 条加入；若是新说法，说*这是新的说法*；若是对我说的，说*撤销*。",
    ),
    "added_many": ("Added {n} posts, {last} in all.", "加入 {n} 条，共 {last} 条。"),
    "added_none": ("Nothing new in that: I have these posts already.", "没有新内容：这些帖子已经有了。"),
    "several": (
        "That holds {0} conversations; this is the first. Paste the others one at a time.",
        "其中有 {0} 段对话；这是第一段。其余请逐段粘贴。",
    ),
    "too_many": ("Only the first {0} posts are read.", "只读前 {0} 条。"),
    "dropped": ("{0} posts without text or twice there are left out.", "略去 {0} 条空白或重复的帖子。"),
    "undone": ("Taken back; {0} posts are left.", "已撤销；还剩 {0} 条。"),
    "nothing_to_undo": ("There is nothing to take back; say *new* to begin anew.", "没有可撤销的；说*新的*重新开始。"),
    "nothing_before": (
        "There is no conversation before it that it could go on with.",
        "前面没有可以接着的对话。",
    ),
    "nothing_pasted": ("There is no paste that could be read in another way.", "没有可以换一种方式读的粘贴。"),
    "kind_json": ("JSON", "JSON"),
    "kind_numbered": ("by their numbers", "按编号"),
    "kind_named": ("by who speaks", "按发言人"),
    "kind_lines": ("one a line; say *that is one post* if not", "每行一条；若不是，说*那是一条帖子*"),
    "kind_paragraphs": ("one a paragraph; say *one post a line* if not", "每段一条；若不是，说*一行一条*"),
    "kind_one": ("one", "一条"),
    # other
    "fresh": ("Begun anew. Paste a claim or a conversation.", "重新开始。请粘贴说法或对话。"),
    "empty_claim": (
        "There is no claim in that: give the claim, or the conversation with one post a line.",
        "其中没有说法：请给出一个说法，或一段对话（每行一条）。",
    ),
    "tool_asks": (
        "The question was not read. These are: why? / how sure are you? / what would change your mind? / where would "
        "it have stopped? / show post 2 / with only the first 3 posts? / without post 2 / judge it by debate.",
        "没有读懂问题。可以问：为什么？/ 你确定吗？/ 什么会改变你的判断？/ 会在哪里停？/ 显示第2条 / 只看前3条 / "
        "去掉第2条 / 用辩论判断。",
    ),
    "nobody_asked": (
        "It is not sure, and nobody could be asked: a person is only asked inside a graph with a checkpointer.",
        "它没有把握，也无法询问人工：只有在带检查点的图中才能询问。",
    ),
    "nothing_yet": (
        "There is nothing to judge yet: paste a claim, or a conversation with one post a line.",
        "还没有内容：请粘贴一个说法，或一段对话（每行一条）。",
    ),
    "welcome": (
        "Paste a claim, or a whole conversation (one post a line, numbered lines, `name: text`, JSON, an exported "
        "thread), or feed it post by post. I say whether it is a rumor, how sure that is, where I would have stopped "
        "reading, which posts carried it and what would change it. Then ask *why?*, *show post 3*, *with only the "
        "first three posts?*, *without post 2*, *judge it by debate*, *undo*, *new*. I open no links and look nothing "
        "up.",
        "请粘贴一个说法，或整段对话（每行一条、带编号、`名字：内容`、JSON 或导出的对话），也可以逐条发送。"
        "我会说明它是否为谣言、把握多大、本会读到哪里停、哪些帖子起了作用、什么会改变判断。"
        "之后可以问：*为什么？*、*显示第3条*、*只看前三条呢？*、*去掉第2条*、*用辩论判断*、*撤销*、*新的*。"
        "我不打开链接，也不查证事实。",
    ),
    "thanks": ("Any time.", "不客气。"),
    "text_only": ("I read text only.", "我只能读文字。"),
    "no_debate_model": (
        "A debate asks a chat model, and this chat has none: set `model` (such as openai:gpt-4o-mini) in its settings.",
        "辩论需要聊天模型，而这里没有：请在设置中填写 `model`（例如 openai:gpt-4o-mini）。",
    ),
    "no_model": (
        "{0} asks a chat model, and this chat has none: set `model` (such as openai:gpt-4o-mini) in its settings.",
        "{0} 需要聊天模型，而这里没有：请在设置中填写 `model`（例如 openai:gpt-4o-mini）。",
    ),
    "trains": (
        "{0} is trained for minutes before it can judge: set `how` to it in this chat's settings instead.",
        "{0} 需要先训练几分钟才能判断：请改在设置中把 `how` 设为它。",
    ),
    "stands": ("The verdict before stands: **{label}**.", "之前的结论不变：**{label}**。"),
    "could_not": ("That could not be done: {problem}", "无法完成：{problem}"),
    "in_words": (
        "In the model's words, which change nothing of the above:",
        "模型的表述（不改变以上结论）：",
    ),
    "ask_person": (
        "The machine is not sure about this claim. What do you say: {labels}, or unsure?",
        "机器对这个说法没有把握。你认为是：{labels}，还是不确定？",
    ),
    "nothing": ("nothing (it abstained)", "没有结论（弃权）"),
    "rumor": ("rumor", "谣言"),
    "non-rumor": ("non-rumor", "非谣言"),
    "false": ("false", "假"),
    "true": ("true", "真"),
    "N": ("N (no rumor)", "N（非谣言）"),
    "T": ("T (true rumor)", "T（真）"),
    "F": ("F (false rumor)", "F（假）"),
    "U": ("U (unverified)", "U（未证实）"),
}
