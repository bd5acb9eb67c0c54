"""Chinese under the English: the catalogue of tests, their forms, and the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "Tests": "统计检验",
    "Leaderboards": "排行榜",
    "Statistical tests": "统计检验",
    "Each is asked by a form here, or by `POST /v1/tests/NAME`.": (
        "每个检验都可以用这里的表单调用,也可以用 `POST /v1/tests/NAME`。"
    ),
    "Answer": "结果",
    "It is being computed": "正在计算",
    "It takes longer than a page waits.": "计算时间超过页面等待的时间。",
    "Look again": "再看一次",
    "Ask it": "调用",
    "Request (JSON)": "请求(JSON)",
    "The example can be sent as it is.": "示例可以原样发送。",
    "Compute": "计算",
    "What it takes": "参数",
    "(needed)": "(必填)",
    "What it is": "说明",
    "Sources": "文献",
    "Exploratory: no plan was locked before these data.": "探索性结果:这些数据之前没有锁定计划。",
    "The whole answer, as the API gives it": "API 给出的完整结果",
    "Several systems on the same items: who may be the best, which ranks the data leave open, and who cannot be told "
    "apart.": "多个系统在同一批题目上:哪些可能最好、数据允许哪些名次、哪些无法区分。",
    "Systems in order": "系统排名",
    "Rank": "名次",
    "System": "系统",
    "Mean": "均值",
    "Ranks left open": "可能的名次",
    "May be the best": "可能最好",
    "yes": "是",
    "no": "否",
    "Not told apart": "无法区分",
    "The table": "数据表",
    "Either the columns `item_id`, `arm` and `value`, or one column for each system; `cluster` where items belong "
    "together. Usual other names (`id`, `model`, `score`) are taken, and said.": "可用 "
    "`item_id`、`arm` 和 `value` 三列,或每个系统一列;题目成组时加 `cluster` 列。"
    "常见的其他列名(`id`、`model`、`score`)也会识别,并会说明。",
    "Read from columns of other names:": "由其他名称的列读取:",
    "Columns that were not read:": "未读取的列:",
    "If items of one {name} are not independent, call that column `cluster`.": "如果同一 {name} 的题目并不"
    "独立,请把该列命名为 `cluster`。",
    "Or a file": "或上传文件",
    "Rank them": "排名",
}
