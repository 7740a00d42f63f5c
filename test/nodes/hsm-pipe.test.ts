/** What a node takes from the process of a PKCS#11 module, which runs foreign code: programs that say anything stand in for it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { silentLog, systemPorts } from '../../core/actors/live/ports.ts';
import { HsmProcess } from '../../nodes/hsm/process.ts';
import { readAnswer, readRequest, writeLine } from '../../nodes/hsm/protocol.ts';
import type { HsmOutcome, HsmRequest } from '../../nodes/records/hsm-port.ts';
import { runs } from '../support/thorough.ts';

const pin = '835217';
const request: HsmRequest = { kind: 'sign', label: 'k', curve: 'secp256k1', message: new Uint8Array(32) };
let folder: string;
let hsm: HsmProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hsm-pipe-'));
});
afterEach(() => {
  hsm?.stop();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** A process that runs `answering` for the line of each request; `say` writes to the node. */
function withProgram(answering: string): HsmProcess {
  const program = join(folder, 'child.mjs');
  writeFileSync(
    program,
    `import { appendFileSync, writeSync } from 'node:fs';
     import { createInterface } from 'node:readline';
     const say = (what) => writeSync(3, what);
     const fail = (id, fault, message) => say(JSON.stringify({ id, outcome: { kind: 'failed', fault, message } }) + '\\n');
     const started = () => appendFileSync(${JSON.stringify(join(folder, 'starts'))}, 'x');
     createInterface({ input: process.stdin }).on('line', (line) => {
       const { kind, id } = JSON.parse(line);
       if (kind === 'open') return started();
       ${answering}
     });`,
  );
  hsm = new HsmProcess({ module: 'm', token: 't', pin, program, timeoutMs: 20_000 }, systemPorts, silentLog);
  return hsm;
}

const ask = (of: HsmProcess) => new Promise<HsmOutcome>((resolve) => of.ask(request, resolve));
const starts = () => readFileSync(join(folder, 'starts'), 'utf8').length;

describe('the process of a module', () => {
  const garbage = [
    ['an outcome of no kind', `say(JSON.stringify({ id, outcome: { kind: 'toString' } }) + '\\n');`],
    ['an answer to another request', `fail(id + 1, 'HSM_FAILED', '');`],
    ['bytes that are no text', `say(Buffer.from('00000004deadbeef0a', 'hex'));`],
    ['bytes without an end', `say('x'.repeat(100_000));`],
    ['null', `say('null\\n');`],
    ['an answer without an outcome', `say(JSON.stringify({ id }) + '\\n');`],
    [
      'a signature that is a text',
      `say(JSON.stringify({ id, outcome: { kind: 'signed', signature: 'ab' } }) + '\\n');`,
    ],
    ['a fault of no name', `fail(id, 'constructor', '');`],
  ] as const;
  test.each(garbage.slice(0, runs(3, garbage.length)))(
    'says %s: that request fails, the node lives, and the next request starts another',
    async (_, answering) => {
      const of = withProgram(answering);
      for (const count of [1, 2]) {
        expect(await ask(of)).toMatchObject({
          kind: 'failed',
          fault: 'HSM_FAILED',
          message: expect.stringMatching(/no answer/),
        });
        expect(starts()).toBe(count);
      }
    },
  );

  test('refuses the PIN: what waits already does not try it again', async () => {
    const of = withProgram(`fail(id, 'HSM_PIN_REFUSED', 'CKR_PIN_INCORRECT');`);
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => ask(of)));
    for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: 'failed', fault: 'HSM_PIN_REFUSED' });
    expect(starts()).toBe(1);
  });

  test('finds neither the PIN nor a setting of this service in its arguments and environment', async () => {
    vi.stubEnv('SIGNMESH_STORAGE_KEY', 'ab'.repeat(32));
    vi.stubEnv('REDIS_URL', 'redis://:secret@127.0.0.1');
    vi.stubEnv('SOFTHSM2_CONF', '/some/where');
    const of = withProgram(`
      const names = Object.keys(process.env).filter((name) => /^SIGNMESH_|REDIS_URL|SOFTHSM2_CONF/.test(name));
      const found = (process.argv.join() + JSON.stringify(process.env)).includes('${pin}');
      fail(id, 'HSM_FAILED', names.join() + ' ' + found);`);
    expect(await ask(of)).toMatchObject({ message: 'SOFTHSM2_CONF false' });
  });
});

test('lines carry bytes, whichever class they are of', () => {
  const bytes = [Buffer.from([0, 10, 255]), Uint8Array.of(0, 10, 255)];
  for (const message of bytes) {
    const sent = { kind: 'request', id: 1, request: { ...request, message } } as const;
    expect(readRequest(writeLine(sent))).toEqual({ ...sent, request: { ...request, message: bytes[1] } });
    const made = { id: 1, outcome: { kind: 'made', publicKey: message, signature: message } } as const;
    expect(readAnswer(writeLine(made))).toEqual({
      id: 1,
      outcome: { kind: 'made', publicKey: bytes[1], signature: bytes[1] },
    });
  }
});
