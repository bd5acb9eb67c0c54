"""Chinese under the English: the five questions of a plan, and the page of a plan."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "New plan": "新建计划",
    "What the plan can show, what it lacks, and its lock": "计划能说明什么、还缺什么,以及锁定",
    "What the plan can show": "计划能说明什么",
    "minimum effect": "最小效应",
    "A plan in five questions": "五个问题写成一份计划",
    "What the answers make is told beside them. Nothing is stored before you create the draft, and a draft can still "
    "change.": "旁边会说明这些回答构成怎样的计划。创建草稿之前不会保存任何内容,草稿也仍可修改。",
    "Something is still to be answered: see below.": "还有问题没有回答好,请看下面。",
    "1. What is compared?": "1. 比较什么?",
    "The system you have (baseline arm)": "现有系统(基线组)",
    "The system you try (candidate arm)": "待试系统(候选组)",
    "The data, with version": "数据及其版本",
    "A title": "标题",
    "Empty: made from the answers above.": "留空则由上面的回答生成。",
    "2. What is measured on an item?": "2. 每道题目测量什么?",
    "Kind": "类型",
    "Its name": "名称",
    "Which way is better?": "哪个方向更好?",
    "3. Which items?": "3. 哪些题目?",
    "How many items": "题目数",
    "What items share": "题目的共同来源",
    "Such as `conversation`, `document` or `repository`: items that share one are no independent evidence. "
    "Empty: nothing.": (
        "例如 `conversation`、`document` 或 `repository`:同一来源的题目不是相互独立的证据。留空表示没有。"
    ),
    "How many of these there are": "共有多少个这样的来源",
    "Or why no two items belong together": "否则,为什么任何两道题目都互不相关",
    "Such as: every question is about another page.": "例如:每个问题针对不同的页面。",
    "4. What is the smallest effect that matters?": "4. 有意义的最小效应是多大?",
    "What do you want to show?": "想要说明什么?",
    "The smallest difference that matters": "有意义的最小差异",
    "In percentage points where items are right or wrong, else in score units.": (
        "题目判对错时以百分点计,否则以分数单位计。"
    ),
    "5. How sure do you have to be?": "5. 需要多大把握?",
    "How often the rule may hold by chance": "规则偶然成立的概率上限",
    "What can it show?": "它能说明什么?",
    "Create the draft": "创建草稿",
    "What this plan can show": "这份计划能说明什么",
    "Has to be mended before the lock": "锁定前必须修正",
    "Has to be acknowledged at the lock": "锁定时必须确认",
    "Good to know": "供参考",
    "Nothing stands against its lock but the list of its items.": "除题目清单外,没有什么妨碍锁定。",
    "Write something here.": "请填写。",
    "Write a number above 0, such as 2.": "请填写大于 0 的数,例如 2。",
    "Write a whole number from 1 to 1,000,000.": "请填写 1 到 1,000,000 的整数。",
    "There cannot be more clusters than items.": "簇的数目不能多于题目。",
    "Name two different arms.": "请写两个不同的组。",
    "Write at most 200 characters.": "最多 200 个字符。",
    "Choose one of these.": "请选择其一。",
    "The candidate is better": "候选更好",
    "The candidate is not worse by this much or more": "候选不会差到这个程度",
    "Both are the same, within this much": "两者在此范围内相同",
    "Right or wrong": "对或错",
    "A score": "分数",
    "More is better": "越大越好",
    "Less is better": "越小越好",
    "{n} items in {n_clusters} clusters are planned.": "计划 {n} 道题目,分为 {n_clusters} 个簇。",
    "{n} items are planned.": "计划 {n} 道题目。",
    "No outcome makes this rule true.": "任何结果都不能使该规则成立。",
    "If the true difference is {truth} ({name}), this rule holds in about {share} of 100 such studies.": (
        "如果真实差异为 {truth}({name}),100 次这样的研究中约有 {share} 次规则成立。"
    ),
    "If there is no true difference, this rule holds in about {share} of 100 such studies.": (
        "如果没有真实差异,100 次这样的研究中约有 {share} 次规则成立。"
    ),
    "With a true difference of {truth} it holds in about {share} of 100.": (
        "真实差异为 {truth} 时,100 次中约有 {share} 次成立。"
    ),
    "More items do not help there: {half}.": "增加题目对此无济于事:{half}。",
    "By what is not known yet, such as how often the arms differ, it is from {low} to {high}. "
    "`assumptions` in the plan narrow this.": (
        "取决于尚不清楚的情况(例如两组有多少题目不同),从 {low} 到 {high} 次。"
        "计划中的 `assumptions` 可缩小范围。"
    ),
    "Plan of {title}": "{title}:计划",
    "The record": "记录",
    "How often each rule would hold, by the true difference; the sentences above say where it matters.": (
        "各规则成立的概率随真实差异的变化;上面的句子说明了关键处。"
    ),
    "How often the rule would hold, by the true difference. It follows from the plan alone.": (
        "规则成立的概率随真实差异的变化,只取决于计划本身。"
    ),
    "What it lacks": "还缺什么",
    "What lint said at the lock": "锁定时的检查结果",
    "Nothing.": "没有。",
    "Items": "题目",
    "{n} of {planned} planned items are listed.": "计划 {planned} 道题目,已列出 {n} 道。",
    "None of {planned} planned items is listed.": "计划 {planned} 道题目,尚未列出。",
    "Items of {population}": "{population} 的题目",
    "CSV with the columns `item_id` and `cluster`. The order is the order of the study.": (
        "CSV,含 `item_id` 和 `cluster` 两列。顺序即研究中的顺序。"
    ),
    "One id a line, or CSV with the column `item_id`. The order is the order of the study.": (
        "每行一个编号,或含 `item_id` 列的 CSV。顺序即研究中的顺序。"
    ),
    "Or a file of {population}": "或上传 {population} 的文件",
    "Replace the items": "替换题目",
    "List the items": "列出题目",
    "Lock": "锁定",
    "The plan can be locked when nothing above has to be mended.": "上面没有必须修正之处时,才能锁定计划。",
    "From the lock on the plan cannot change, and results may be posted. It cannot be undone.": (
        "锁定之后计划不能再改,并开始接受结果。锁定无法撤销。"
    ),
    "I have read `{code}`": "我已阅读 `{code}`",
    "Lock the plan": "锁定计划",
}
