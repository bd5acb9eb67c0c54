"""Chinese under the English: jobs, audit log and keys."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "Jobs": "任务",
    "Audit log": "审计日志",
    "Keys": "密钥",
    "queued": "排队中",
    "running": "运行中",
    "succeeded": "已完成",
    "failed": "失败",
    "cancelled": "已取消",
    "Ended": "结束",
    "About": "关于",
    "Call off": "取消",
    "Call off the job {id}": "取消任务 {id}",
    "There is none. Jobs that have ended are kept for a while.": "没有任务。已结束的任务会保留一段时间。",
    "Writes, refused edits of what is locked, and reads of verdicts, rows and whatever else follows from outcomes. "
    "What one key reads of one record within a minute is one event.": (
        "写入、对锁定内容被拒绝的修改,以及对结论、数据行和其他由结果得出的内容的读取。"
        "同一密钥一分钟内对同一记录的读取记为一条。"
    ),
    "Action": "操作",
    "Done to (id)": "对象(编号)",
    "When": "时间",
    "By": "操作者",
    "no key": "无密钥",
    "What else is known": "其他信息",
    "The key {name} is made": "密钥 {name} 已创建",
    "Copy its secret now: it is shown here once and kept nowhere.": (
        "请立即复制密钥内容:此处只显示一次,任何地方都不保存。"
    ),
    "Name": "名称",
    "May": "权限",
    "Last used": "最近使用",
    "Ends": "失效",
    "a person": "个人",
    "an eval job": "评测任务",
    "never": "从未",
    "Revoked": "已撤销",
    "Revoke": "撤销",
    "Revoke {name}": "撤销 {name}",
    "You are signed in with it.": "你正用它登录。",
    "Make a key": "创建密钥",
    "Who or what will use it": "由谁使用",
    "For": "用于",
    "It may": "允许",
    "Its last day (UTC)": "最后一天(UTC)",
    "Empty: until it is revoked, or the key that makes it ends.": "留空则直到被撤销,或创建它的密钥失效。",
    "Make the key": "创建密钥",
    "run statistical tests": "运行统计检验",
    "write plans": "编写计划",
    "lock plans, void, close, withdraw, share": "锁定计划、作废、提前结束、撤回、共享",
    "post results": "提交结果",
    "read, also these pages": "阅读,包括这些页面",
    "decide about deviations": "评审偏离",
    "open results before the verdict, for good": "在判定前打开结果,不可撤销",
    "govern keys and webhooks of the project": "管理本项目的密钥和 webhook",
    "govern the deployment": "管理整个部署",
}
