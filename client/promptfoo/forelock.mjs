#!/usr/bin/env node
// Posts the results of promptfoo to a Forelock preregistration: extension hooks, and a command for what waits.
//
// A result is on the disk before the next one, and an evaluation that ended is one file with the key it is posted under:
// posted twice it is stored once. The files hold outcomes, for their owner alone; nothing here prints what they say.

import { randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const FIELDS = [
  "error", "failureReason", "gradingResult", "metadata", "namedScores", "prompt", "promptId", "promptIdx",
  "provider", "score", "success", "testCase", "testIdx", "vars",
]; // what the service reads of a result
const AGAIN = new Set([429, 502, 503, 504]);
const OPEN = ".open.jsonl";
const ENDED = ".json";

let open = null; // the file of the evaluation that goes on

export async function afterEach(context) {
  const target = targetOf(process.env);
  if (target !== null && context?.result) {
    if (open === null) open = begin(target);
    append(open.file, `${JSON.stringify(trimmed(context.result))}\n`);
  }
  return context;
}

export async function afterAll(context) {
  const target = targetOf(process.env);
  if (target === null) return context;
  // not what was kept one by one: comparisons of outputs, and an evaluation that was gone on with, are in here alone
  const repeat = context?.config?.evaluateOptions?.repeat;
  const document = {
    forelock: { key: randomUUID(), ...target },
    ...(Number.isInteger(repeat) ? { runtimeOptions: { repeat } } : {}),
    results: { results: (context?.results ?? []).map(trimmed) },
  };
  const name = path.join(spoolOf(process.env), `${Date.now()}-${document.forelock.key}${ENDED}`);
  try {
    writeWhole(name, JSON.stringify(document));
  } catch (error) {
    console.error(`forelock: results cannot be kept (${error.code}): import results.json with forelock import`);
    return context;
  }
  if (open !== null) {
    fs.closeSync(open.file);
    fs.unlinkSync(open.path);
    open = null;
  }
  await send({ environment: process.env, record: target.record });
  return context;
}

// Posts what waits; answers how many files were taken and how many stay.
export async function send({ environment, record = null, partial = false, tell = console.error, pause = nap }) {
  const found = { sent: 0, stay: 0 };
  for (const file of waiting(spoolOf(environment), record)) {
    if (file.partial && (!partial || alive(file.pid))) {
      found.stay += 1;
      tell(`forelock: ${file.results} results of an evaluation that did not end wait in ${file.path}`);
      continue;
    }
    const refused = await post(environment, file, pause);
    if (refused === null) {
      fs.unlinkSync(file.path);
      found.sent += 1;
    } else {
      found.stay += 1;
      tell(`forelock: ${plain(refused)}; ${file.results} results wait in ${file.path}: node forelock.mjs send`);
    }
  }
  return found;
}

// The files that wait, the oldest first: what they are of, and how many results they have.
export function waiting(folder, record = null) {
  if (!fs.existsSync(folder)) return [];
  const names = fs.readdirSync(folder).filter((name) => name.endsWith(OPEN) || name.endsWith(ENDED));
  return names.sort().map((name) => read(path.join(folder, name))).filter((file) => record === null || file.record === record);
}

function read(file) {
  const text = fs.readFileSync(file, "utf8");
  if (file.endsWith(OPEN)) {
    const lines = text.split("\n").slice(0, -1); // a line that was torn never was a result
    const head = JSON.parse(lines[0]).forelock;
    return { ...head, path: file, partial: true, results: lines.length - 1, body: lines.slice(1).join("\n") };
  }
  const document = JSON.parse(text);
  return { ...document.forelock, path: file, partial: false, results: document.results.results.length, body: text };
}

async function post(environment, file, pause) {
  const base = (environment.FORELOCK_URL || "http://127.0.0.1:8321").replace(/\/+$/, "");
  const query = new URLSearchParams({ format: "promptfoo", on_duplicate: "skip" });
  for (const name of ["arm", "population"]) if (file[name]) query.set(name, file[name]);
  const headers = { "Content-Type": "application/octet-stream", "Idempotency-Key": file.key };
  if (environment.FORELOCK_API_KEY) headers.Authorization = `Bearer ${environment.FORELOCK_API_KEY}`;
  const address = `${base}/v1/preregistrations/${encodeURIComponent(file.record)}/imports?${query}`;
  let said = "";
  for (const wait of [0.2, 0.8, 3, null]) {
    try {
      const answer = await fetch(address, { method: "POST", headers, body: file.body, redirect: "error" });
      if (answer.ok) return null;
      said = await problem(answer);
      if (!AGAIN.has(answer.status)) return said;
    } catch (error) {
      said = `${base} does not answer (${error.cause?.code ?? error.message})`;
    }
    if (wait !== null) await pause(wait);
  }
  return said;
}

async function problem(answer) {
  try {
    const { code, detail } = await answer.json();
    return `${code}: ${detail}`;
  } catch {
    return `the service answered ${answer.status}`;
  }
}

function begin(target) {
  const key = randomUUID();
  const folder = spoolOf(process.env);
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const name = path.join(folder, `${Date.now()}-${key}${OPEN}`);
  const file = fs.openSync(name, "ax", 0o600);
  append(file, `${JSON.stringify({ forelock: { key, pid: process.pid, ...target } })}\n`);
  return { file, path: name };
}

function append(file, line) {
  fs.writeSync(file, line);
  fs.fsyncSync(file);
}

function writeWhole(name, text) {
  const folder = path.dirname(name);
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const made = `${name}.new`;
  const file = fs.openSync(made, "wx", 0o600);
  try {
    fs.writeFileSync(file, text);
    fs.fsyncSync(file);
  } finally {
    fs.closeSync(file);
  }
  fs.renameSync(made, name);
  const names = fs.openSync(folder, "r");
  fs.fsyncSync(names);
  fs.closeSync(names);
}

function trimmed(result) {
  return Object.fromEntries(FIELDS.filter((name) => result[name] !== undefined).map((name) => [name, result[name]]));
}

function targetOf(environment) {
  const { FORELOCK_RECORD: record, FORELOCK_ARM: arm, FORELOCK_POPULATION: population } = environment;
  return record ? { record, ...(arm ? { arm } : {}), ...(population ? { population } : {}) } : null;
}

function spoolOf(environment) {
  const state = environment.XDG_STATE_HOME || path.join(os.homedir(), ".local", "state");
  return path.join(environment.FORELOCK_SPOOL || path.join(state, "forelock", "spool"), "promptfoo");
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return pid !== process.pid;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function plain(text) {
  return String(text).replace(/\p{C}/gu, "?");
}

function nap(seconds) {
  return new Promise((done) => setTimeout(done, 1000 * seconds));
}

async function main([command, ...options]) {
  if (command === "status") {
    for (const file of waiting(spoolOf(process.env))) {
      console.log(`${file.record}: ${file.results} results wait${file.partial ? " (the evaluation did not end)" : ""}`);
    }
    return 0;
  }
  if (command === "send") {
    const found = await send({ environment: process.env, partial: options.includes("--partial") });
    console.log(`${found.sent} evaluations are with the service, ${found.stay} wait`);
    return found.stay ? 1 : 0;
  }
  console.error("usage: forelock-promptfoo status | send [--partial]");
  return 2;
}

if (process.argv[1] && import.meta.url === pathToFileURL(fs.realpathSync(process.argv[1])).href) {
  process.exitCode = await main(process.argv.slice(2));
}
