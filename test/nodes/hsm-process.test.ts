/** The process of a PKCS#11 module, with SoftHSM2: what it signs, and that a node outlives whatever becomes of it. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { builtFile } from '../../cli/common/built.ts';
import { silentLog, systemPorts } from '../../core/actors/live/ports.ts';
import { hsmChallenge, hsmSignature, verifyHsmPossession } from '../../core/crypto/hsm.ts';
import { HsmProcess } from '../../nodes/hsm/process.ts';
import type { HsmOutcome, HsmRequest } from '../../nodes/records/hsm-port.ts';
import { softHsm, TestToken } from '../support/softhsm.ts';
import { until } from '../support/until.ts';

const found = softHsm();
const digest = new Uint8Array(32).fill(0x42);
const statement = { curve: 'secp256k1', context: new Uint8Array(32).fill(1), dealerId: 1 } as const;

if (found.kind === 'missing') {
  // Not silent: the line stands in the report.
  test.skip(`PKCS#11: ${found.why}`, () => {});
}

describe.runIf(found.kind === 'ready')('a PKCS#11 module', () => {
  let token: TestToken;
  let hsm: HsmProcess;
  const pids: number[] = [];

  const open = (more: { readonly pin?: string; readonly timeoutMs?: number; readonly module?: string } = {}) => {
    const log = {
      ...silentLog,
      info: (fields: object) => void pids.push((fields as { pid: number }).pid),
    };
    const config = {
      module: found.kind === 'ready' ? found.module : '',
      token: token.label,
      pin: token.pin,
      program: builtFile('nodes/hsm/child.js'),
      timeoutMs: 20_000,
      ...more,
    };
    return new HsmProcess(config, systemPorts, log);
  };
  const ask = (request: HsmRequest, of = hsm) => new Promise<HsmOutcome>((resolve) => of.ask(request, resolve));
  const make = (label: string, curve: 'secp256k1' | 'ed25519' = 'secp256k1', of = hsm) =>
    ask({ kind: 'make', label, curve, challenge: hsmChallenge({ ...statement, curve }) }, of);
  const sign = (label: string, of = hsm) => ask({ kind: 'sign', label, curve: 'secp256k1', message: digest }, of);
  const faultOf = (outcome: HsmOutcome) => (outcome.kind === 'failed' ? outcome.fault : outcome.kind);

  beforeAll(() => {
    token = new TestToken();
    vi.stubEnv('SOFTHSM2_CONF', token.environment.SOFTHSM2_CONF);
    hsm = open();
  });

  afterAll(() => {
    hsm?.stop();
    vi.unstubAllEnvs();
    token?.delete();
  });

  test('makes a key once, proves that it has it, and signs ECDSA that another library verifies', async () => {
    const made = await make('k');
    if (made.kind !== 'made') throw new Error(JSON.stringify(made));
    const { publicKey, signature: proof } = made;
    expect(verifyHsmPossession({ ...statement, proof, publicKey })).toBe(true);
    expect(await make('k')).toMatchObject({ kind: 'made', publicKey });
    for (let count = 0; count < 8; count += 1) {
      const signed = await sign('k');
      if (signed.kind !== 'signed') throw new Error(JSON.stringify(signed));
      const whole = hsmSignature('secp256k1', signed.signature, digest, Uint8Array.from(publicKey))!;
      const low = whole.slice(0, 64);
      expect(secp256k1.verify(low, digest, publicKey, { prehash: false, lowS: true })).toBe(true);
      const recovered = secp256k1.Signature.fromBytes(low, 'compact')
        .addRecoveryBit(whole[64]!)
        .recoverPublicKey(digest);
      expect(Buffer.from(recovered.toBytes(true))).toEqual(Buffer.from(publicKey));
    }
  });

  test('signs Ed25519', async () => {
    const made = await make('e', 'ed25519');
    if (made.kind !== 'made') throw new Error(JSON.stringify(made));
    const { publicKey, signature: proof } = made;
    expect(verifyHsmPossession({ ...statement, curve: 'ed25519', proof, publicKey })).toBe(true);
  });

  test('its process is killed: the request under way fails, the next one starts a new process', async () => {
    expect(faultOf(await sign('k'))).toBe('signed');
    const pid = pids.at(-1)!;
    process.kill(pid, 'SIGSTOP');
    const hanging = sign('k');
    const behind = sign('k');
    await until(() => pids.at(-1) === pid, 'the process');
    process.kill(pid, 'SIGKILL');
    expect(faultOf(await hanging)).toBe('HSM_SESSION_LOST');
    expect(faultOf(await behind)).toBe('signed');
    expect(pids.at(-1)).not.toBe(pid);
  });

  test('a module that hangs is ended after its time', async () => {
    const impatient = open({ timeoutMs: 1_500 });
    const first = await sign('k', impatient);
    // A slow start on a busy machine is a timeout too; then the next process is the one to stop.
    if (faultOf(first) !== 'HSM_TIMEOUT') expect(faultOf(first)).toBe('signed');
    else return impatient.stop();
    process.kill(pids.at(-1)!, 'SIGSTOP');
    expect(faultOf(await sign('k', impatient))).toBe('HSM_TIMEOUT');
    impatient.stop();
  });

  test('a wrong PIN is refused, and not tried again at once', async () => {
    const wrong = open({ pin: '000000' });
    expect(faultOf(await sign('k', wrong))).toBe('HSM_PIN_REFUSED');
    const processes = pids.length;
    expect(faultOf(await sign('k', wrong))).toBe('HSM_PIN_REFUSED');
    expect(pids).toHaveLength(processes);
    wrong.stop();
    expect(faultOf(await sign('k'))).toBe('signed');
  });

  test('the token is removed and put back; a key that is not there; a module that is none', async () => {
    const other = open();
    token.remove();
    expect(faultOf(await sign('k', other))).toBe('HSM_TOKEN_ABSENT');
    token.insert();
    expect(faultOf(await sign('k', other))).toBe('signed');
    expect(faultOf(await sign('no such key', other))).toBe('HSM_TOKEN_ABSENT');
    other.stop();
    const none = open({ module: '/nowhere/module.so' });
    expect(faultOf(await sign('k', none))).toBe('HSM_FAILED');
    none.stop();
  });

  test.each([0, 1])(
    'half of a pair, left by a making that was cut off, gives way to a whole one (%s)',
    async (half) => {
      const label = `half ${half}`;
      const before = token.objects;
      const first = await make(label);
      const [lost] = token.objects.filter((object) => !before.includes(object)).slice(half);
      token.destroy(lost!);
      // As after a timeout: another process.
      const next = open();
      const made = await make(label, 'secp256k1', next);
      if (first.kind !== 'made' || made.kind !== 'made') throw new Error(JSON.stringify([first, made]));
      const { publicKey, signature: proof } = made;
      expect(publicKey).not.toEqual(first.publicKey);
      expect(verifyHsmPossession({ ...statement, proof, publicKey })).toBe(true);
      expect(token.objects).toHaveLength(before.length + 2);
      expect(await make(label, 'secp256k1', next)).toMatchObject({ kind: 'made', publicKey });
      next.stop();
    },
  );

  test('a destroyed key is gone from the token, and destroying it again is no fault', async () => {
    await make('gone');
    const files = token.files;
    expect(faultOf(await ask({ kind: 'destroy', label: 'gone' }))).toBe('destroyed');
    expect(token.files).toBeLessThan(files);
    expect(faultOf(await ask({ kind: 'destroy', label: 'gone' }))).toBe('destroyed');
    expect(faultOf(await sign('gone'))).toBe('HSM_TOKEN_ABSENT');
  });
});
