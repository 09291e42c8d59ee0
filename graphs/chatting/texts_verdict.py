"""What the chat says of a verdict and of what it rests on, in English and Chinese."""

VERDICT: dict[str, tuple[str, str]] = {
    # the verdict
    "verdict": ("**{label}**, {sure} ({how}, {posts}).", "**{label}**，{sure}（{how}，{posts}）。"),
    "sure": ("{p} sure", "把握 {p}"),
    "no_p": ("no probability given", "没有给出概率"),
    "posts": ("{n} posts", "{n} 条帖子"),
    "post": ("1 post", "1 条帖子"),
    "posts_of": ("posts {numbers} of {n}", "{n} 条中的第 {numbers} 条"),
    "no_verdict": ("**No verdict** ({how}, {posts}): {reason}.", "**没有结论**（{how}，{posts}）：{reason}。"),
    "by_person": (
        "**{label}**, decided by a person, not by the machine. The machine said {machine}.",
        "**{label}**：由人判断，不是机器的结论。机器的判断：{machine}。",
    ),
    "machine": ("{label}, {sure} ({how}, {posts})", "{label}，{sure}（{how}，{posts}）"),
    "machine_none": ("nothing ({reason})", "没有结论（{reason}）"),
    "person_unsure": (
        "A person was asked and could not tell either; the machine's verdict stands:",
        "已询问人工，对方也无法判断；机器的结论不变：",
    ),
    "person_said": ("The person's words: {said}", "对方的原话：{said}"),
    # what it rests on
    "stopped": (
        "**Would have stopped** after post {read} of {n} (`{when}`), saying {label}{at}.",
        "**本会停在**第 {read} 条（共 {n} 条，`{when}`），当时判断为{label}{at}。",
    ),
    "stopped_other": (
        "**Would have stopped** after post {read} of {n} (`{when}`), saying something else: {label}{at}.",
        "**本会停在**第 {read} 条（共 {n} 条，`{when}`），当时的判断不同：{label}{at}。",
    ),
    "moved": (
        "**This post** took {label} from {before} to {after}.",
        "**这一条**使{label}的概率由 {before} 变为 {after}。",
    ),
    "moved_not": ("**This post** left {label} at {after}.", "**这一条**没有改变{label}的概率（{after}）。"),
    "moved_over": (
        "**This post changed the verdict**: {label} went from {before} to {after}.",
        "**这一条改变了结论**：{label}的概率由 {before} 变为 {after}。",
    ),
    "stopped_last": (
        "**Would have stopped** nowhere before the last post (`{when}`).",
        "**本会停在**最后一条，此前不会停（`{when}`）。",
    ),
    "at": (" at {p}", "（{p}）"),
    "alone": (
        "**The claim alone** says {label}{at}; the replies take {verdict} from {p} to {all}.",
        "**只看源帖**判断为{label}{at}；加上回复，{verdict}的概率由 {p} 变为 {all}。",
    ),
    "alone_same": (
        "**The claim alone** says {label}{at}; the replies leave it there.",
        "**只看源帖**判断为{label}{at}；加上回复没有变化。",
    ),
    "alone_label": ("**The claim alone** says {label}.", "**只看源帖**判断为{label}。"),
    "carried": ("**Carried by** {posts}.", "**主要依据**：{posts}。"),
    "against": ("**Against it** {posts}.", "**相反的证据**：{posts}。"),
    "carried_nothing": (
        "**Carried by** no single reply: leaving any one out moves it by less than a point.",
        "**主要依据**：没有哪一条回复单独起作用，去掉任何一条变化都不到一个百分点。",
    ),
    "carried_claim": (
        "**Carried by** post 1, the claim: there is no reply yet.",
        "**主要依据**：第 1 条（源帖），还没有回复。",
    ),
    "carried_claim_only": (
        "**Carried by** post 1, the claim: no reply speaks for it by itself.",
        "**主要依据**：第 1 条（源帖），没有哪条回复单独支持它。",
    ),
    "one_left_out": ("post {number} ({weight}; {p} without it)", "第 {number} 条（{weight}；去掉后 {p}）"),
    "block_left_out": ("posts {number} ({weight}; {p} without them)", "第 {number} 条（{weight}；去掉后 {p}）"),
    "points": ("{weight} points", "{weight} 个百分点"),
    "change": (
        "**Would change its mind**: {ways}.",
        "**什么会改变判断**：{ways}。",
    ),
    "change_nothing": (
        "**Would change its mind**: nothing that was tried: none of the sets of replies left out, and no stock reply.",
        "**什么会改变判断**：试过的都不行，试着去掉的各组回复和各条预设回复都不改变结论。",
    ),
    "flip": ("without {posts} it would say {label}{at}", "去掉{posts}后判断为{label}{at}"),
    "flip_posts": ("post {numbers}", "第 {numbers} 条"),
    "flip_many": ("posts {numbers}", "第 {numbers} 条"),
    "flip_most": ("the {n} posts that carry it most", "起作用最大的 {n} 条"),
    "next": ("a next reply {text} would make it {label}{at}", "若下一条回复是{text}，判断变为{label}{at}"),
    "no_flip_next": (
        "no stock reply flips it ({moves})",
        "没有哪条预设回复会改变结论（{moves}）",
    ),
    "moves": ("{name} {p}", "{name} {p}"),
    "support": ("one that confirms", "证实"),
    "deny": ("one that denies", "否认"),
    "question": ("one that asks", "质疑"),
    "comment": ("one that only comments", "一般评论"),
    "computed": (
        "Computed by judging again without each reply and with four stock replies.",
        "以上由去掉每条回复、加上四条预设回复后重新判断得出。",
    ),
    "computed_claim": (
        "Computed by judging again with four stock replies.",
        "以上由加上四条预设回复后重新判断得出。",
    ),
    "no_set": ("none of the sets of replies left out flips it", "试着去掉的各组回复都不改变结论"),
    "reads_english": (
        "The embedded encoder reads English; its verdicts on other languages are little better than chance.",
        "内置编码器只懂英语：它对中文的判断与瞎猜相差无几。请设置 `model` 并用模型判断。",
    ),
    "computed_calls": (
        "Computed with {calls} further questions to the model (at most {max}), replies left out {size}.",
        "以上另向模型提问 {calls} 次得出（上限 {max} 次），每次去掉{size}。",
    ),
    "size_one": ("one by one", "一条回复"),
    "size_many": ("in blocks of about {n}", "约 {n} 条回复"),
    "machine_went_by": ("What the machine went by:", "机器的依据："),
    # what was not computed
    "no_weights": (
        "What carried it and what would change it is not computed with {0}: every verdict takes it several questions. "
        "*why?* tells what was said.",
        "使用 {0} 时不计算哪些帖子起了作用：每次判断要提问多次。说*为什么？*可看其陈述。",
    ),
    "no_calls": (
        "What carried it is not computed: max_calls is {0}, and it takes more questions than that.",
        "没有计算依据：max_calls 为 {0}，提问次数不够。",
    ),
    "no_stop": (
        "Where it would have stopped is not computed: {0} would be asked after every post.",
        "没有计算本会停在哪里：那样每条之后都要问一次 {0}。",
    ),
    "stop_failed": ("Where it would have stopped is not known: {0}.", "不知道本会停在哪里：{0}。"),
    "model_failed": (
        "What carried it could not be computed: the model stopped answering.",
        "没能计算依据：模型没有继续回答。",
    ),
    # debates
    "debate_evidence": (
        "**The debaters** saw {p} as supporting and {n} as opposing, and took {turns} turns; {flips} changed sides; "
        "{end}.",
        "**辩手**看到的支持评论：{p}；反对评论：{n}。共发言 {turns} 次，其中 {flips} 次改变立场；{end}。",
    ),
    "judge_decided": ("a judge decided", "由裁判决定"),
    "agreed": ("they agreed in the end", "最后双方一致"),
    "nobody": ("no post", "没有"),
    "no_flips": ("neither", "0"),
    "cited": ("**Cited** most: {posts}.", "**引用最多**：{posts}。"),
    "speaker_p": ("For it being real", "正方（真实）"),
    "speaker_n": ("Against", "反方"),
    "speaker_judge": ("Judge", "裁判"),
    "speaker_agent": ("Agent", "代理"),
    "reason": ("**Its reason:** {text}", "**理由：**{text}"),
}
