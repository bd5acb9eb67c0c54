import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { afterEach as after, beforeEach as before, test } from "node:test";

import { afterAll, afterEach, send, waiting } from "./forelock.mjs";

const RESULT = { testIdx: 0, promptIdx: 0, vars: { q: "?" }, score: 0.25, success: false, response: { output: "long" } };
let folder, server, requests, answers, told;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "forelock-"));
  [requests, answers, told] = [[], [], []];
  server = http.createServer((request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      requests.push({ url: request.url, headers: request.headers, body: Buffer.concat(pieces).toString() });
      const [status, body] = answers.shift() ?? [201, {}];
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  Object.assign(process.env, {
    FORELOCK_SPOOL: folder,
    FORELOCK_RECORD: "p/1",
    FORELOCK_ARM: "A",
    FORELOCK_API_KEY: "flk_k",
    FORELOCK_URL: `http://127.0.0.1:${server.address().port}`,
  });
});

after(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  fs.rmSync(folder, { recursive: true });
});

const place = () => path.join(folder, "promptfoo");
const sendNow = (more) => send({ environment: process.env, tell: (line) => told.push(line), pause: async () => {}, ...more });

test("an evaluation that ended is posted in one piece, as promptfoo has it at the end", async () => {
  await afterEach({ test: {}, result: { ...RESULT, score: 0.75 } });
  assert.deepEqual(waiting(place()).map((file) => [file.partial, file.results]), [[true, 1]]);
  await afterAll({ results: [RESULT, { ...RESULT, testIdx: 1 }], config: { evaluateOptions: { repeat: 2 } } });
  assert.equal(requests.length, 1);
  assert.equal(requests[0].url, "/v1/preregistrations/p%2F1/imports?format=promptfoo&on_duplicate=skip&arm=A");
  assert.equal(requests[0].headers.authorization, "Bearer flk_k");
  const document = JSON.parse(requests[0].body);
  assert.deepEqual(document.results.results.map((each) => [each.testIdx, each.score]), [[0, 0.25], [1, 0.25]]);
  assert.deepEqual(document.runtimeOptions, { repeat: 2 });
  assert.equal(requests[0].body.includes("long"), false);
  assert.deepEqual(waiting(place()), []);
});

test("what the service does not take waits, and goes again under its key", async () => {
  answers.push([422, { code: "import_unmapped", detail: "import.arm: nobody says" }]);
  await afterAll({ results: [RESULT] });
  const [file] = waiting(place());
  assert.equal(fs.statSync(file.path).mode & 0o777, 0o600);
  assert.deepEqual(await sendNow(), { sent: 1, stay: 0 });
  assert.equal(requests[0].headers["idempotency-key"], requests[1].headers["idempotency-key"]);
  assert.deepEqual(waiting(place()), []);
});

test("a service that is away is asked again, and the results wait without being told", async () => {
  answers.push([503, {}], [503, {}], [503, {}], [503, { code: "overloaded", detail: "later" }]);
  fs.mkdirSync(place());
  fs.writeFileSync(path.join(place(), "1.json"), JSON.stringify({ forelock: { key: "k", record: "p/1" }, results: { results: [RESULT] } }));
  assert.deepEqual(await sendNow(), { sent: 0, stay: 1 });
  assert.equal(requests.length, 4);
  assert.match(told[0], /overloaded: later; 1 results wait/);
  assert.doesNotMatch(told[0], /0\.25|false/);
});

test("results of an evaluation that was killed stay until they are asked for", async () => {
  fs.mkdirSync(place());
  const head = { forelock: { key: "k", record: "p/1", arm: "A", pid: 2 ** 30 } };
  const lines = [head, RESULT].map((each) => JSON.stringify(each)).join("\n");
  fs.writeFileSync(path.join(place(), "1.open.jsonl"), `${lines}\n{"testIdx": 1, "sc`);
  assert.deepEqual(await sendNow(), { sent: 0, stay: 1 });
  assert.deepEqual(await sendNow({ partial: true }), { sent: 1, stay: 0 });
  assert.deepEqual(JSON.parse(requests[0].body).testIdx, 0);
});

test("nothing happens where no preregistration is named", async () => {
  delete process.env.FORELOCK_RECORD;
  await afterEach({ result: RESULT });
  await afterAll({ results: [RESULT] });
  assert.equal(requests.length, 0);
  assert.equal(fs.existsSync(place()), false);
});
